"""How far the build of a release has come, and whether somebody is still at it.

The builder reports; at most once a second a report goes to the shared cache, never to the database, where
the build reads from one long snapshot. That a build is alive is not taken from its reports but from its
lock (``publishing.locks``), which the database takes from a dead process at once.
"""

from __future__ import annotations

import enum
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.core.cache import caches
from django.utils import timezone

from publishing import locks
from publishing.models import Release
from publishing.steps import Stage

EVERY_SECONDS = 1.0
"""Between two reports that are kept."""
KEPT_FOR = timedelta(days=1)
RECENT = 30
"""Kept reports that the present pace is taken from."""
PACE_AFTER_SECONDS = 10.0
"""A step that has run for less says nothing about the time it needs."""
MOST_UNEVEN = 4.0
"""How many times longer than the shortest estimate the longest may be for them to be worth saying."""
GRACE = timedelta(seconds=15)
"""How long nobody need be at a release that was asked for, or that a worker has just taken or left."""
SILENT_AFTER = timedelta(minutes=10)
"""No step without rows takes so long; after that its worker may hang."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a build had come at a moment. ``remaining``: of this step, in seconds, at least and at most."""

    stage: Stage
    done: int
    total: int | None
    at: datetime
    remaining: tuple[float, float] | None = None


class Standing(enum.StrEnum):
    """What can be said of a release that is not finished."""

    QUEUED = "queued"
    UNTAKEN = "untaken"
    UNDERWAY = "underway"
    SILENT = "silent"
    STALLED = "stalled"


class Reporter:
    """Keeps the reports of one build, at most one a second and each beginning of a step."""

    def __init__(
        self,
        release: Release,
        *,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], datetime] = timezone.now,
    ) -> None:
        self._key = _key(release)
        self._clock = clock
        self._now = now
        self._stage: Stage | None = None
        self._total: int | None = None
        self._kept_at = 0.0
        self._seen: deque[tuple[float, int]] = deque(maxlen=RECENT)
        self._first = (0.0, 0)

    def __call__(self, stage: Stage, done: int, total: int | None) -> None:
        tick = self._clock()
        if stage is not self._stage:
            self._stage, self._total, self._first = stage, total, (tick, done)
            self._seen.clear()
        elif tick - self._kept_at < EVERY_SECONDS:
            return
        self._seen.append((tick, done))
        self._kept_at = tick
        remaining = remaining_seconds(self._first, [*self._seen], self._total)
        progress = Progress(stage, done, self._total, self._now(), remaining)
        caches["shared"].set(self._key, progress, KEPT_FOR.total_seconds())


def remaining_seconds(
    first: tuple[float, int], recent: list[tuple[float, int]], total: int | None
) -> tuple[float, float] | None:
    """The least and the most that the rest of a step takes, by its pace so far and lately.

    ``first`` and ``recent`` are (seconds, rows done). None while that would be a guess: too early, no
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
    """The last report of the release's build; None when there is none, or it cannot be read."""
    found: Progress | None = caches["shared"].get(_key(release))
    return found


def standing_of(release: Release, progress: Progress | None, *, now: datetime) -> tuple[Standing, datetime]:
    """How an unfinished release stands, and when a worker last gave a sign of it, else when it was asked for.

    One that no worker has begun waits its turn while another release is being built; ``UNTAKEN`` says
    only that nobody has come for it, since workers have other work, too.
    """
    building = locks.being_built()
    if release.state == Release.State.REQUESTED:
        if release.pk in building:
            return Standing.UNDERWAY, now
        is_patient = building or now <= release.requested_at + GRACE
        return (Standing.QUEUED if is_patient else Standing.UNTAKEN), release.requested_at
    signs = [release.started_at or release.requested_at, *([progress.at] if progress else [])]
    sign = max(signs)
    if release.pk in building:
        return (Standing.SILENT if now > sign + SILENT_AFTER else Standing.UNDERWAY), sign
    return (Standing.STALLED if now > sign + GRACE else Standing.UNDERWAY), sign


def _key(release: Release) -> str:
    """Named with the moment it was asked for: a failed release is asked for again under its own id."""
    return f"progress:{release.pk}:{release.requested_at:%Y%m%d%H%M%S%f}"
