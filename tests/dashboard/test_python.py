"""The code that pages offer to read a study in Python, run as it stands."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from lxml import html
from pytest_django.live_server_helper import LiveServer

from tests import builders
from tests.api.client import Program, member

PAGES = ("/studies/main/quality/", "/studies/main/stories/", "/api-tokens/")
AFTER = "print(sorted(joined['q3']), joined['content.story'].notna().all(), dataset.num_rows)"


@pytest.mark.django_db(transaction=True)
def test_the_code_on_every_page_gives_votes_with_their_texts(
    live_server: LiveServer, settings: Any, tmp_path: Path
) -> None:
    settings.PUBLIC_URL = live_server.url
    study = builders.make_study("main", stories=1, votes_per_story=2)
    first, second = builders.qualified(study, 2)
    builders.vote(first)
    builders.vote(second, builders.answers(q3="no"))
    owner = member(study)
    desk = Client()
    desk.force_login(owner)
    shown: list[Any] = [html.document_fromstring(desk.get(page).content.decode()) for page in PAGES]
    codes = {page.xpath("//pre[@id='python-code']")[0].text_content() for page in shown}
    assert len(codes) == 1
    done = subprocess.run(
        (sys.executable, "-c", f"{codes.pop()}\n{AFTER}"),
        env=os.environ | {"TOMANNOT_TOKEN": Program(owner, ("votes:read", "stories:read")).secret},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "['no', 'yes'] True 2"
