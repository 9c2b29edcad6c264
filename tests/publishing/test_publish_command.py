"""``manage.py publish_release``, and what it says when things go wrong; see test_kill for a real worker."""

from __future__ import annotations

import json
import time
from io import StringIO
from pathlib import Path
from types import SimpleNamespace

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, transaction
from django.utils import timezone

from annotation.models import Study
from dashboard.management.commands import publish_release
from publishing.actions import releases
from publishing.errors import BrokenDirectory
from publishing.files import directory
from publishing.files.directory import copy_release
from publishing.models import Release
from tests import builders
from tests.publishing.support import judged_study

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("releases_root")]


def run(*arguments: str) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of the command run in this process."""
    out, err = StringIO(), StringIO()
    try:
        call_command("publish_release", *arguments, stdout=out, stderr=err)
    except CommandError as error:
        return error.returncode, out.getvalue(), f"{err.getvalue()}{error}"
    return 0, out.getvalue(), err.getvalue()


@pytest.fixture(autouse=True)
def short_ping(monkeypatch: pytest.MonkeyPatch) -> None:
    """No worker is there to answer."""
    monkeypatch.setattr(publish_release, "PING_SECONDS", 0.05)


@pytest.fixture
def built_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Build each release in this process once its request is committed; test_kill has a real worker."""
    enqueue = releases.enqueue_build

    def build_here(*, release_id: int) -> None:
        enqueue(release_id=release_id)
        transaction.on_commit(lambda: releases.build_release(release_id=release_id, now=timezone.now()))

    monkeypatch.setattr(releases, "enqueue_build", build_here)


@pytest.mark.usefixtures("built_at_once")
def test_publishes_and_copies(small: Study, tmp_path: Path) -> None:
    copy = tmp_path / "somewhere" / "pilot"
    code, out, err = run("small", "--output", str(copy))
    assert (code, out) == (0, f"{copy}\n")
    assert "Requested release 1 of small." in err
    assert "Release 1 is published." in err
    release = Release.objects.get()
    assert directory.verify(copy) == directory.verify(release.directory)
    assert sorted(entry.name for entry in copy.parent.iterdir()) == ["pilot"]

    code, out, _ = run("small", "--json")
    assert code == 0
    second = Release.objects.get(number=2)
    assert json.loads(out) == {
        "study": "small", "number": 2, "filter": "all-agree", "directory": str(second.directory),
        "manifest_sha256": second.manifest_sha256,
        "stories": 4, "kept": 2, "dropped": 1, "incomplete": 1, "votes": 3, "annotators": 1,
    }  # fmt: skip


def test_waits_for_the_release_underway_and_asks_for_no_other(
    small: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting = releases.request_release(study=small, by=None, now=timezone.now())
    naps: list[float] = []

    def build_meanwhile(seconds: float) -> None:
        assert not naps, "it is published by now"
        naps.append(seconds)
        releases.build_release(release_id=waiting.pk, now=timezone.now())

    clockwork = SimpleNamespace(monotonic=time.monotonic, sleep=build_meanwhile)
    monkeypatch.setattr(publish_release, "time", clockwork)
    code, out, err = run("small")
    assert (code, out) == (0, f"{waiting.directory}\n")
    assert "already being built" in err
    assert Release.objects.count() == 1
    assert naps


def test_says_when_no_worker_answers_and_leaves_the_release_queued(small: Study) -> None:
    code, out, err = run("small", "--timeout", "0.1")
    assert (code, out) == (3, "")
    assert "No Celery worker answers. Start one" in err
    assert "still requested" in err
    assert Release.objects.get().state == Release.State.REQUESTED


def test_another_filter_than_that_of_the_release_underway_is_refused(small: Study) -> None:
    releases.request_release(study=small, by=None, now=timezone.now())
    code, out, err = run("small", "--filter", "majority", "--timeout", "0.1")
    assert (code, out) == (1, "")
    assert "Release 1 of small is already being built, with the filter all-agree and not majority" in err
    assert Release.objects.get().filter_name == "all-agree"


def test_never_writes_over_something(small: Study, tmp_path: Path) -> None:
    file, folder, link = (tmp_path / name for name in ("file", "folder", "link"))
    file.write_text("mine")
    folder.mkdir()
    (folder / "mine").write_text("mine")
    link.symlink_to(tmp_path)
    for target in (file, folder, link):
        code, _, err = run("small", "--output", str(target))
        assert code == 1
        assert "not an empty directory" in err
    assert not Release.objects.exists()


def test_a_database_without_tables_is_named_in_words() -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("ALTER TABLE annotation_study RENAME TO elsewhere")
        code, _, err = run("small")
        transaction.set_rollback(True)
    assert code == 1
    assert err.startswith("The database has no tables of tomannot. Name the right one in DATABASE_URL")


@pytest.mark.usefixtures("built_at_once")
def test_refusals_have_their_exit_codes() -> None:
    code, _, err = run("nowhere")
    assert (code, err) == (1, "There is no study “nowhere”. Studies here: none yet.")
    builders.make_study("fresh")
    code, _, err = run("fresh")
    assert code == 1
    assert "all its 3 votes" in err
    judged_study("hopeless", {"a": (builders.answers(q1="no"),)}, votes_per_story=1)
    code, _, err = run("hopeless")
    assert code == 4
    assert "keeps none of the 1 complete stories" in err


def test_a_damaged_release_is_not_copied(release: Release, tmp_path: Path) -> None:
    (release.directory / "README.md").write_text("tampered")
    with pytest.raises(BrokenDirectory, match=r"README\.md"):
        copy_release(release.directory, tmp_path / "copy" / "here")
    assert list((tmp_path / "copy").iterdir()) == []
