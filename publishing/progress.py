"""Progress of a release's build, and signs that a worker is still at it.

The builder reports; at most once a second a report goes to the shared cache, never to the database, where the
build reads from one long snapshot. Whether a build is alive is known from its lock (:mod:`annotation.locks`),
which the database takes from a dead process at once, not from its reports.
"""

import enum
from collections import deque
from dataclasses import dataclass
from datetime import datetime, timedelta
from time import monotonic

from django.core.cache import caches
from django.utils import timezone

from annotation import locks
from publishing.models import Release
from publishing.steps import Stage

EVERY_SECONDS = 1.0
"""Between two stored reports."""
KEPT_FOR = timedelta(days=1)
RECENT = 30
"""Stored reports from which the current pace is computed."""
PACE_AFTER_SECONDS = 10.0
"""A step that has run for less gives no estimate."""
MOST_UNEVEN = 4.0
"""Largest ratio of longest to shortest estimate that is still worth showing."""
GRACE = timedelta(seconds=15)
"""Time a release may be without a worker after it was requested, taken or left."""
SILENT_AFTER = timedelta(minutes=10)
"""No step takes so long without rows; after that, its worker may hang."""


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a build at a moment. ``remaining``: seconds left in this step, at least and at most."""

    stage: Stage
    done: int
    total: int | None
    at: datetime
    remaining: tuple[float, float] | None = None


class BuildStanding(enum.StrEnum):
    """The state of an unfinished build."""

    QUEUED = "queued"
    UNTAKEN = "untaken"
    UNDERWAY = "underway"
    SILENT = "silent"
    STALLED = "stalled"


class Reporter:
    """Stores the reports of one build: at most one a second, and the first of each step."""

    def __init__(self, release: Release) -> None:
        self._key = _key(release)
        self._stage: Stage | None = None
        self._total: int | None = None
        self._kept_at = 0.0
        self._seen: deque[tuple[float, int]] = deque(maxlen=RECENT)
        self._first = (0.0, 0)

    def __call__(self, stage: Stage, done: int, total: int | None) -> None:
        tick = monotonic()
        if stage is not self._stage:
            self._stage, self._total, self._first = stage, total, (tick, done)
            self._seen.clear()
        elif tick - self._kept_at < EVERY_SECONDS:
            return
        self._seen.append((tick, done))
        self._kept_at = tick
        remaining = remaining_seconds(self._first, [*self._seen], self._total)
        progress = Progress(stage, done, self._total, timezone.now(), remaining)
        caches["shared"].set(self._key, progress, KEPT_FOR.total_seconds())


def remaining_seconds(
    first: tuple[float, int], recent: list[tuple[float, int]], total: int | None
) -> tuple[float, float] | None:
    """Estimate the seconds left in a step, from its overall and its recent pace: (least, most).

    ``first`` and ``recent`` are (seconds, rows done). Return None while this would be a guess: too early, no
    rows, or paces too far apart.
    """
    tick, done = recent[-1]
    if total is None or tick - first[0] < PACE_AFTER_SECONDS:
        return None
    paces = [
        (done - rows) / (tick - then) for then, rows in (first, recent[0]) if tick > then and done > rows
    ]
    if not paces:
        return None
    low, high = (max(total - done, 0) / pace for pace in (max(paces), min(paces)))
    return (low, high) if high <= MOST_UNEVEN * low else None


def latest(release: Release) -> Progress | None:
    """Return the last report of the release's build, or None."""
    found: Progress | None = caches["shared"].get(_key(release))
    return found


def build_standing(
    release: Release, progress: Progress | None, *, now: datetime
) -> tuple[BuildStanding, datetime]:
    """Return the state of an unfinished release, with the last sign of a worker or the time of the request.

    A requested release waits while another one is being built. ``UNTAKEN`` only means that no worker has
    taken it yet, since workers have other jobs too.
    """
    building = locks.held(locks.RELEASE)
    if release.state == Release.State.REQUESTED:
        if release.pk in building:
            return BuildStanding.UNDERWAY, now
        is_patient = building or now <= release.requested_at + GRACE
        return (BuildStanding.QUEUED if is_patient else BuildStanding.UNTAKEN), release.requested_at
    signs = [release.started_at or release.requested_at, *([progress.at] if progress else [])]
    sign = max(signs)
    if release.pk in building:
        return (BuildStanding.SILENT if now > sign + SILENT_AFTER else BuildStanding.UNDERWAY), sign
    return (BuildStanding.STALLED if now > sign + GRACE else BuildStanding.UNDERWAY), sign


def _key(release: Release) -> str:
    """Includes the time of the request, because a failed release is requested again under its own id."""
    return f"progress:{release.pk}:{release.requested_at:%Y%m%d%H%M%S%f}"
