"""Checks of releases that need Python: published files never change and identify nobody."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

from django.db.models import QuerySet

from accounts.models import PlatformIdentity
from annotation import locks
from integrity.base import by_walking, of_study
from publishing.errors import BrokenDirectory
from publishing.files import directory
from publishing.models import Release
from publishing.store import StoreUnavailable
from tomannot import clock

STUCK_AFTER = timedelta(minutes=10)
"""Longest wait of a release that nobody builds. A periodic task retries it every 30 seconds."""

_CHUNK = 1 << 20


def _published(study_id: int | None) -> QuerySet[Release]:
    releases = Release.objects.filter(state=Release.State.PUBLISHED).select_related("study").order_by("pk")
    return of_study(releases, study_id)


@by_walking(7)
def published_release_is_unchanged(study_id: int | None) -> Iterator[int]:
    """Published releases whose files have changed."""
    for release in _published(study_id).prefetch_related("files"):
        try:
            files, _ = directory.verify(release.directory, release.manifest_sha256)
        except StoreUnavailable:
            raise
        except (BrokenDirectory, OSError):
            yield release.pk
            continue
        recorded = {(file.path, file.size, file.sha256) for file in release.files.all()}
        if {(file.path, file.size, file.sha256) for file in files} != recorded:
            yield release.pk


@by_walking(7)
def every_release_gets_done(study_id: int | None) -> Iterator[int]:
    """Releases that have waited for more than ten minutes without being built."""
    waiting = Release.objects.unfinished().filter(requested_at__lte=clock.now() - STUCK_AFTER).order_by("pk")
    building = locks.held(locks.RELEASE)
    for release in of_study(waiting, study_id):
        if release.pk not in building:
            yield release.pk


@by_walking(8)
def release_names_nobody(study_id: int | None) -> Iterator[int]:
    """Published releases with a file that contains the pseudonym key or a platform id."""
    for release in _published(study_id):
        people = PlatformIdentity.objects.filter(annotator__enrollments__study=release.study_id)
        secrets = [release.study.pseudonym_key, *people.values_list("person", flat=True).distinct()]
        marks = [secret.encode() for secret in secrets if len(secret) >= 6]
        paths = sorted(path for path in release.directory.rglob("*") if path.is_file())
        if any(_holds(path, marks) for path in paths):
            yield release.pk


def _holds(path: Path, marks: list[bytes]) -> bool:
    overlap = max(map(len, marks)) - 1
    tail = b""
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            text = tail + chunk
            if any(mark in text for mark in marks):
                return True
            tail = text[-overlap:]
    return False
