"""Rules about working time as pure functions: breaks, paid time, estimated pay."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from annotation.rules import CENT

LONG_BREAK = timedelta(minutes=15)
"""A pause after which a new stretch of work begins."""

LONG_STRETCH = timedelta(minutes=45)
"""The stretch of work after which a break is suggested."""


def working_since(
    before: datetime | None, last_submitted_at: datetime | None, served_at: datetime, submitted_at: datetime
) -> datetime:
    """Return the start of the current stretch of work, given the story that has just been answered.

    A story that was open for longer than a long break counts as a break: nobody reads that long.
    """
    if submitted_at - max(served_at, last_submitted_at or served_at) > LONG_BREAK:
        return submitted_at
    if before is None or last_submitted_at is None or served_at - last_submitted_at > LONG_BREAK:
        return served_at
    return before


def pause_minutes(working_since: datetime | None, last_submitted_at: datetime | None, now: datetime) -> int:
    """Return the minutes worked without a long break if a break should be suggested, else 0."""
    if working_since is None or last_submitted_at is None or now - last_submitted_at > LONG_BREAK:
        return 0
    stretch = now - working_since
    return int(stretch.total_seconds() // 60) if stretch >= LONG_STRETCH else 0


def paid_seconds(seconds: float) -> float:
    """Cut the time for which a story was open to what is paid: at most a long break, as in the test.

    Nobody reads two sentences for longer, and a story left open overnight is not a night of work.
    """
    return min(seconds, LONG_BREAK.total_seconds())


@dataclass(frozen=True, slots=True)
class Pace:
    """An annotator's median paid time in ``seconds``, and the number of stories whose time was ``cut``."""

    seconds: float
    cut: int


def pace_of(seconds: Sequence[float]) -> Pace | None:
    """Return the pace from the seconds each story was open; None without answers."""
    if not seconds:
        return None
    paid = [paid_seconds(one) for one in seconds]
    return Pace(
        statistics.median(paid), sum(one < open_for for one, open_for in zip(paid, seconds, strict=True))
    )


def estimated_pay(stories: int, pace: float | None, hourly: Decimal | None) -> Decimal | None:
    """Return stories x pace x hourly rate, to the cent; None if the work is not paid.

    ``pace`` is the median paid time in seconds (:func:`pace_of`). Not the sum of times, because a story left
    open over lunch is not an hour of work. Annotators see it as an estimate while they work; where no
    platform pays them, it is also the amount due.
    """
    if hourly is None or pace is None:
        return None
    return (Decimal(stories) * Decimal(pace) * hourly / 3600).quantize(CENT)
