"""Invariants 7 and 8 as far as releases carry them: what is published stays, and names nobody."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

from django.db.models import QuerySet
from django.utils import timezone

from accounts.models import PlatformIdentity
from dashboard.integrity.base import Check, by_sql, by_walking
from publishing import locks
from publishing.errors import BrokenDirectory
from publishing.files import directory
from publishing.models import Release

STUCK_AFTER = timedelta(minutes=10)
"""How long a release may wait while nobody builds it. The sweep asks for it again every 30 seconds."""

_CHUNK = 1 << 20


def _published(study_id: int | None) -> QuerySet[Release]:
    releases = Release.objects.filter(state=Release.State.PUBLISHED).select_related("study").order_by("pk")
    return releases.filter(study=study_id) if study_id else releases


def _changed_on_disk(study_id: int | None) -> Iterator[int]:
    for release in _published(study_id).prefetch_related("files"):
        try:
            files, manifest_sha256 = directory.verify(release.directory)
        except (BrokenDirectory, OSError):
            yield release.pk
            continue
        recorded = {(file.path, file.size, file.sha256) for file in release.files.all()}
        if (
            manifest_sha256 != release.manifest_sha256
            or {(f.path, f.size, f.sha256) for f in files} != recorded
        ):
            yield release.pk


def _stuck(study_id: int | None) -> Iterator[int]:
    waiting = Release.objects.filter(
        state__in=(Release.State.REQUESTED, Release.State.BUILDING),
        requested_at__lte=timezone.now() - STUCK_AFTER,
    ).order_by("pk")
    building = locks.being_built()
    for release in waiting.filter(study=study_id) if study_id else waiting:
        if release.pk not in building:
            yield release.pk


def _telling_who(study_id: int | None) -> Iterator[int]:
    """Releases with a file in which the key of the pseudonyms or somebody's platform id stands."""
    for release in _published(study_id):
        people = PlatformIdentity.objects.filter(annotator__enrollments__study=release.study_id)
        secrets = [release.study.pseudonym_key, *people.values_list("person", flat=True).distinct()]
        marks = [secret.encode() for secret in secrets if len(secret) >= 6]
        paths = sorted(path for path in release.directory.rglob("*") if path.is_file())
        if any(_holds(path, marks) for path in paths):
            yield release.pk


def _holds(path: Path, marks: list[bytes]) -> bool:
    """Whether one of the byte strings stands in the file; memory is bounded by a chunk."""
    overlap = max(map(len, marks)) - 1
    tail = b""
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            text = tail + chunk
            if any(mark in text for mark in marks):
                return True
            tail = text[-overlap:]
    return False


CHECKS = (
    Check(
        "published_release_is_unchanged",
        7,
        "Published releases whose files are not the ones that were published.",
        by_walking(_changed_on_disk),
    ),
    Check(
        "every_release_gets_done",
        7,
        "Releases that were asked for, are not being built, and wait for more than ten minutes.",
        by_walking(_stuck),
    ),
    Check(
        "release_names_nobody",
        8,
        "Published releases with a file in which the key of the pseudonyms or a platform id stands.",
        by_walking(_telling_who),
    ),
    Check(
        "release_is_in_the_log",
        10,
        "Releases whose request or publication the log does not speak of.",
        by_sql("""
            SELECT r.study_id, r.id AS row
            FROM publishing_release r
            WHERE NOT EXISTS (SELECT 1 FROM annotation_event ev
                              WHERE ev.study_id = r.study_id AND ev.type = 'release_requested'
                                AND ev.subject = 'release ' || r.number)
               OR r.state = 'published'
              AND NOT EXISTS (SELECT 1 FROM annotation_event ev
                              WHERE ev.study_id = r.study_id AND ev.type = 'release_published'
                                AND ev.subject = 'release ' || r.number)
        """),
    ),
    Check(
        "withdrawal_is_of_a_published_release_and_says_why",
        7,
        "Withdrawals of releases that are not published, from before the publication, or without a reason.",
        by_sql("""
            SELECT r.study_id, r.id AS row
            FROM publishing_withdrawal w JOIN publishing_release r ON r.id = w.release_id
            WHERE r.state <> 'published' OR w.withdrawn_at < r.published_at OR w.reason = ''
        """),
    ),
    Check(
        "withdrawal_is_in_the_log",
        10,
        "Withdrawn releases of whose withdrawal the log does not speak, or which it calls withdrawn and that "
        "are not.",
        by_sql("""
            SELECT r.study_id, r.id AS row
            FROM publishing_release r LEFT JOIN publishing_withdrawal w ON w.release_id = r.id
            WHERE (w.id IS NOT NULL) <> EXISTS (
                SELECT 1 FROM annotation_event ev
                WHERE ev.study_id = r.study_id AND ev.type = 'release_withdrawn'
                  AND ev.subject = 'release ' || r.number)
        """),
    ),
)
