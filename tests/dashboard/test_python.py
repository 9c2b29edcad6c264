"""The code that pages offer to read a study in Python, run as it stands."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from lxml import html
from pytest_django.live_server_helper import LiveServer

from tests import builders
from tests.api.client import Program, member

PAGES = ("/studies/main/quality/", "/studies/main/stories/", "/api-tokens/")


@pytest.mark.django_db(transaction=True)
def test_the_code_on_every_page_gives_votes_with_their_texts(
    live_server: LiveServer, settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
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
    file = tmp_path / "read.py"
    file.write_text(codes.pop(), encoding="utf-8")
    monkeypatch.setenv("TOMANNOT_TOKEN", Program(owner, ("votes:read", "stories:read")).secret)
    made = runpy.run_path(str(file))
    assert sorted(made["joined"]["q3"]) == ["no", "yes"]
    assert made["joined"]["content.story"].notna().all()
    assert made["dataset"].num_rows == 2
