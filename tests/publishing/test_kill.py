"""SIGKILL a real worker in the middle of a build: no release or a whole one, and it can be finished.

Every test run does so at one point, where the build is held; ``make torture`` at eleven, of a long build.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from io import StringIO
from pathlib import Path
from threading import Event, Thread

import pytest
from django.core.management import call_command
from django.db import connection, transaction
from django.test import Client
from django.utils import timezone

from annotation.models import Study
from publishing.actions import releases
from publishing.files import directory
from publishing.models import Release
from tests import builders
from tests.publishing.conftest import Worker, kill
from tests.publishing.support import bulk_votes
from tests.publishing.test_builder import FILES

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(900)]

STORIES = 600
WAIT_SECONDS = 120.0


def appears(pattern: str) -> Callable[[Release], bool]:
    """A point of the build: the moment something of this name is in the release's hidden directory."""
    return lambda release: any(release.directory.parent.glob(f".building-{release.number}-*{pattern}"))


def state_is_building(release: Release) -> bool:
    return Release.objects.filter(pk=release.pk, state=Release.State.BUILDING).exists()


def is_in_place(release: Release) -> bool:
    return release.directory.exists()


POINTS: dict[str, Callable[[Release], bool]] = {
    "the build has begun": state_is_building,
    "the hidden directory is there": appears(""),
    "votes are being written": appears("/annotations/votes.jsonl"),
    "stories are being written": appears("/annotations/dropped-stories.jsonl"),
    "mental-state questions are being written": appears("/mental-state-qa/test.jsonl"),
    "behavior questions are being written": appears("/behavior-qa/test.jsonl"),
    "judgment questions are being written": appears("/judgment-qa/test.jsonl"),
    "Parquet copies are being written": appears("/parquet/story-data/test.parquet"),
    "the card is being written": appears("/README.md"),
    "the manifest is being written": appears("/MANIFEST"),
    "moved into place, not recorded yet": is_in_place,
}
"""The last point is held open by :func:`recording_blocked`; the others are met by watching closely."""


@contextmanager
def recording_blocked(release: Release) -> Iterator[None]:
    """Holds the release's row from the moment its files are being written: it cannot be recorded."""
    held, done = Event(), Event()

    def hold() -> None:
        meet(appears("/annotations/votes.jsonl"), release)
        with transaction.atomic():
            Release.objects.select_for_update().get(pk=release.pk)
            held.set()
            done.wait(timeout=WAIT_SECONDS)
        connection.close()

    holder = Thread(target=hold)
    holder.start()
    try:
        yield
        assert held.is_set()
    finally:
        done.set()
        holder.join(timeout=WAIT_SECONDS)


def meet(point: Callable[[Release], bool], release: Release) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    while not point(release) and not is_in_place(release):  # a quick build may have passed the point
        assert time.monotonic() < deadline, "the worker never came to this point"
        time.sleep(0.0005)  # looking without a rest would take the worker's core


def test_a_killed_build_shows_nothing_and_another_one_finishes_it(
    small: Study, start_worker: Callable[[], Worker], client: Client
) -> None:
    """At the point at which the disk has it all and the database nothing."""
    release = releases.request_release(study=small, by=None, now=timezone.now())
    with recording_blocked(release):
        worker = start_worker()
        meet(is_in_place, release)
        kill(worker)
    release.refresh_from_db()
    assert release.state == Release.State.BUILDING
    check_none_or_whole(release, client, "moved into place, not recorded yet")
    resumed(release)
    releases.build_release(release_id=release.pk, now=timezone.now())
    release.refresh_from_db()
    check_none_or_whole(release, client, "at the end")
    assert (release.state, release.kept) == (Release.State.PUBLISHED, 2)
    assert [path.name for path in release.directory.parent.iterdir()] == ["1"]


def resumed(release: Release) -> None:
    """The sweep asks again for a build whose worker is gone, as the database notices in a moment."""
    end, later = time.monotonic() + 30, timezone.now() + releases.STALLED_AFTER
    while releases.resume_releases(now=later) == 0:
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.fixture
def study() -> Study:
    study = builders.make_study("killed", stories=STORIES)
    bulk_votes(study, builders.qualified(study, 3))
    return study


@pytest.mark.torture
def test_no_release_or_a_whole_one_wherever_the_worker_is_killed(
    study: Study, start_worker: Callable[[], Worker], releases_root: Path, client: Client
) -> None:
    cut_off = 0
    worker = start_worker()
    for name in POINTS:
        release = releases.request_release(study=study, by=None, now=timezone.now())
        killed_at(name, release, worker)
        check_none_or_whole(release, client, name)
        if release.state != Release.State.PUBLISHED:
            cut_off += 1
        worker = start_worker()
        go_on(release, name)
        check_none_or_whole(release, client, name)
        shutil.copytree(release.directory, releases_root.parent / f"seen-{release.number}")
    assert cut_off >= 0.6 * len(POINTS), f"only {cut_off} of {len(POINTS)} kills came before the end"
    for number in range(1, len(POINTS) + 1):  # what was once published stayed as it was
        seen = releases_root.parent / f"seen-{number}"
        assert directory.verify(seen) == directory.verify(releases_root / "killed" / str(number))


def killed_at(name: str, release: Release, worker: Worker) -> None:
    """Kill the worker when the build of the release has come to the point of this name."""
    with recording_blocked(release) if POINTS[name] is is_in_place else nullcontext():
        meet(POINTS[name], release)
        kill(worker)
    release.refresh_from_db()


def check_none_or_whole(release: Release, client: Client, point: str) -> None:
    """Whatever the public can see of this release is whole, and it sees nothing unless it is published."""
    page = f"/releases/{release.study.slug}/{release.number}/"
    public = client.get(page)
    if release.state == Release.State.PUBLISHED:
        assert public.status_code == 200
        files, manifest_sha256 = directory.verify(release.directory)
        assert manifest_sha256 == release.manifest_sha256
        assert sorted(file.path for file in files) == FILES
        assert release.files.count() == len(FILES)
    else:
        assert public.status_code == 404, point
        assert page not in client.get("/releases/").content.decode()
        assert not release.files.exists()
        if release.directory.exists():
            directory.verify(release.directory)


def go_on(release: Release, point: str) -> None:
    """Run the command again: it finishes what was begun, and leaves nothing lying about."""
    if release.state != Release.State.PUBLISHED:
        out, err = StringIO(), StringIO()
        call_command("publish_release", "killed", "--timeout", "240", stdout=out, stderr=err)
        assert out.getvalue() == f"{release.directory}\n", point
        assert "No Celery worker" not in err.getvalue()
    release.refresh_from_db()
    assert release.state == Release.State.PUBLISHED, point
    assert (release.stories, release.kept, release.dropped) == (STORIES, STORIES * 2 // 3, STORIES // 3)
    assert not list(release.directory.parent.glob(".building-*")), point
