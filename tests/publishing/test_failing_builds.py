"""Builds that were killed or failed: what they leave, and what the next one makes of it."""

from __future__ import annotations

import errno
import os
import resource
import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from django.utils import timezone

from annotation import locks
from annotation.models import Event, Study
from publishing.actions import releases
from publishing.files import directory
from publishing.models import Release
from tests.publishing.support import build, request

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("releases_root")]


def half_built(release: Release, monkeypatch: pytest.MonkeyPatch, at: str) -> None:
    """Stop the build at this point as a crash would: nothing after it runs, no clean-up either."""

    class Crash(BaseException):
        pass

    def crash(*args: Any, **kwargs: Any) -> None:
        raise Crash

    with monkeypatch.context() as patch:
        patch.setattr("publishing.actions.releases.shutil.rmtree", lambda *args, **kwargs: None)
        patch.setattr(f"publishing.actions.releases.{at}", crash)
        with pytest.raises(Crash):
            releases.build_release(release_id=release.pk, now=timezone.now())
    release.refresh_from_db()
    assert release.state == Release.State.BUILDING


def test_a_whole_directory_that_was_not_recorded_is_adopted(
    small: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = request(small)
    half_built(release, monkeypatch, "_publish")
    files, manifest_sha256 = directory.verify(release.directory)
    before = {path: path.stat().st_ino for path in release.directory.rglob("*")}
    build(release)
    assert release.state == Release.State.PUBLISHED
    assert release.manifest_sha256 == manifest_sha256
    assert {path: path.stat().st_ino for path in release.directory.rglob("*")} == before
    assert release.kept == 2
    assert [file.path for file in files] == [file.path for file in release.files.all()]


def test_hidden_leftovers_are_swept_and_others_are_not(small: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    release = request(small)
    half_built(release, monkeypatch, "directory.DirectoryWriter.finish")
    parent = release.directory.parent
    assert len(list(parent.glob(".building-1-*"))) == 1
    (parent / ".building-11-x").mkdir()
    build(release)
    assert release.state == Release.State.PUBLISHED
    assert sorted(entry.name for entry in parent.iterdir()) == [".building-11-x", "1"]


def test_a_broken_leftover_in_the_place_is_replaced(small: Study) -> None:
    release = request(small)
    release.directory.mkdir(parents=True)
    (release.directory / "MANIFEST").write_text("0" * 64 + "  README.md\n")
    build(release)
    assert release.state == Release.State.PUBLISHED
    directory.verify(release.directory)


def test_another_whole_release_in_the_place_is_never_touched(release: Release) -> None:
    other = release.directory.parent / "2"
    release.directory.rename(other)
    before = {path: path.read_bytes() for path in other.rglob("*") if path.is_file()}
    later = build(request(release.study))
    assert later.state == Release.State.FAILED
    assert "RELEASES_ROOT" in later.failure
    assert {path: path.read_bytes() for path in other.rglob("*") if path.is_file()} == before


def test_a_link_out_of_the_root_is_not_followed(small: Study, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_text("x")
    release = request(small)
    release.directory.parent.mkdir(parents=True)
    release.directory.symlink_to(outside)
    build(release)
    assert release.state == Release.State.FAILED
    assert (outside / "precious").read_text() == "x"


def test_only_one_session_builds_a_release(small: Study) -> None:
    release = request(small)
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with locks.alone(locks.RELEASE, release.pk) as ours:
            assert ours
            held.set()
            done.wait(timeout=30)
        connection.close()

    holder = threading.Thread(target=hold)
    holder.start()
    try:
        assert held.wait(timeout=10)
        assert locks.held(locks.RELEASE) == {release.pk}
        build(release)
        assert release.state == Release.State.REQUESTED
        later = timezone.now() + timedelta(minutes=1)
        assert releases.stalled_releases(now=later) == []
    finally:
        done.set()
        holder.join(timeout=30)
    assert releases.stalled_releases(now=timezone.now()) == []
    assert releases.stalled_releases(now=later) == [release]
    assert releases.resume_releases(now=later) == 1
    build(release)
    assert release.state == Release.State.PUBLISHED
    assert locks.held(locks.RELEASE) == set()
    assert releases.stalled_releases(now=later) == []


@pytest.mark.parametrize(
    ("number", "advice"),
    [
        (errno.ENOSPC, "Free some space there"),
        (errno.EFBIG, "size limit"),
        (errno.EACCES, "Give its user the right to"),
        (errno.EROFS, "read-only"),
        (errno.EIO, "Check that directory"),
    ],
)
def test_what_to_do_about_a_failing_disk_is_said(number: int, advice: str) -> None:
    said = releases._failure_text(OSError(number, os.strerror(number)))
    assert advice in said
    assert str(settings.RELEASES_ROOT) in said


def test_a_full_disk_leaves_nothing_and_the_release_can_be_asked_for_again(
    small: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = request(small)

    def fail(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr("publishing.files.directory.os.fsync", fail)
        build(release)
    assert release.state == Release.State.FAILED
    assert "Free some space there" in release.failure
    assert list(release.directory.parent.iterdir()) == []
    again = build(request(small))
    assert (again.pk, again.number, again.state) == (release.pk, 1, Release.State.PUBLISHED)
    assert again.failure == ""
    kinds = Event.objects.filter(subject="release 1").order_by("pk").values_list("type", flat=True)
    assert list(kinds) == ["release_requested", "release_failed", "release_requested", "release_published"]


def test_a_build_that_the_kernel_refuses_more_bytes_fails_and_leaves_nothing(small: Study) -> None:
    release = request(small)
    before, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, most))
    try:
        releases.build_release(release_id=release.pk, now=timezone.now())
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (before, most))
    release.refresh_from_db()
    assert release.state == Release.State.FAILED
    assert "File too large. A file would pass the worker's size limit" in release.failure
    assert list(release.directory.parent.iterdir()) == []


def test_a_fault_fails_the_release_and_is_raised(small: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    release = request(small)

    def fault(*args: Any, **kwargs: Any) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr("publishing.builder.jsonl.line", fault)
    with pytest.raises(ZeroDivisionError):
        releases.build_release(release_id=release.pk, now=timezone.now())
    release.refresh_from_db()
    assert release.state == Release.State.FAILED
    assert "ZeroDivisionError: oops" in release.failure
    assert locks.held(locks.RELEASE) == set()
