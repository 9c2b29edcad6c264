"""The examples in docs/api.md, run as they stand by a Python and a curl of their own, on a real server."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone
from pytest_django.live_server_helper import LiveServer

from annotation import actions
from annotation.models import UNANSWERED, ApiToken, Assignment, StoryImport
from api.urls import urlpatterns
from tests import builders
from tests.api.client import Program, member
from tests.test_docs import FIRST_CELL, blocks, page, section


def test_the_guide_has_every_scope_state_and_address() -> None:
    guide = page("docs/api.md")
    assert set(FIRST_CELL.findall(section(guide, "A token"))) == set(ApiToken.Scope.values)
    (states,) = re.findall(r"^\| `state` \| (.*) \|$", section(guide, "Votes"), re.MULTILINE)
    assert set(re.findall(r"`(\w+)`", states)) == set(Assignment.State) - set(UNANSWERED)
    listed = section(guide, "Addresses").replace("SLUG", "<slug:slug>").replace("/N/", "/<int:number>/")
    for name in (str(pattern.pattern).split("/", 2)[-1] for pattern in urlpatterns[1:]):
        assert name.removeprefix("imports/").removeprefix("releases/") in listed, name


@pytest.fixture
def worker(transactional_db: None) -> Iterator[None]:
    """Imports what is queued, as a Celery worker would, until the test ends."""
    over = threading.Event()

    def work() -> None:
        while not over.wait(0.1):
            for job in StoryImport.objects.filter(state=StoryImport.State.QUEUED):
                actions.run_import(story_import_id=job.pk, now=timezone.now())
        connection.close()

    thread = threading.Thread(target=work)
    thread.start()
    yield
    over.set()
    thread.join()


@pytest.mark.usefixtures("worker")
def test_the_examples_run_as_they_stand_with_the_scopes_they_name(
    live_server: LiveServer, settings: Any, tmp_path: Path
) -> None:
    settings.MEDIA_ROOT = tmp_path / "media"
    study = builders.make_study("main", stories=2, votes_per_story=1)
    builders.answer_everything(builders.qualified(study))
    (tmp_path / "stories.jsonl").write_text(json.dumps(builders.story_row(7)) + "\n")
    guide = page("docs/api.md")
    (example,), (line,) = blocks(guide, "python"), blocks(guide, "sh")
    owner, runs = member(study), {}
    for command, scopes in (
        ((sys.executable, "-I", "-c", example), ("stories:write", "votes:read")),
        (("sh", "-c", line.replace("curl ", "curl -sS ")), ("votes:read",)),
    ):
        runs[command[0]] = subprocess.run(
            command,
            env={
                **os.environ,
                "TOMANNOT_URL": live_server.url,
                "TOMANNOT_TOKEN": Program(owner, scopes).secret,
                "TOMANNOT_STUDY": "main",
            },
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert [done.stderr for done in runs.values()] == ["", ""]
    said = runs[sys.executable].stdout.splitlines()
    assert said == ["imported 1", "2 kept so far", "2 votes count"]
    assert (tmp_path / "votes.csv").read_text().count("\n") == 3
