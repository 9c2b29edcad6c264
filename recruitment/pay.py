"""Hourly pay, and what is missing to the target. Pure functions of plain values."""

from dataclasses import dataclass
from decimal import ROUND_HALF_UP, ROUND_UP, Decimal

from annotation.rules import CENT

HOUR = 3600
FEWEST = 5
"""Fewest submissions whose median time is meaningful."""
SHORTEST = 5.0
"""Seconds: nobody reads two sentences and answers in less, so a shorter median is of machines or mistakes."""


@dataclass(frozen=True, slots=True)
class HourlyPay:
    """A campaign's pay per hour, by the median time of its submissions."""

    median_seconds: float
    per_hour: Decimal
    target: Decimal | None
    top_up: Decimal
    """Missing pay per submission, in whole cents; 0 when nothing is missing."""

    @property
    def median_minutes(self) -> float:
        return self.median_seconds / 60


def advertised_pay(reward: Decimal, minutes: int) -> Decimal:
    """Return the hourly pay of a reward for this many minutes, in whole cents."""
    return (reward * 60 / minutes).quantize(CENT, ROUND_HALF_UP)


def hourly_pay(reward: Decimal, median: float, target: Decimal | None, *, pieces: int) -> HourlyPay | None:
    """Return the hourly pay of submissions with this ``median`` in seconds; None if too few or too short.

    The median is what platforms judge by as well (Prolific: by the median of the real times). What is
    missing is rounded up to the next cent, so that nobody is left below the target.
    """
    if pieces < FEWEST or median < SHORTEST:
        return None
    hours = Decimal(str(median)) / HOUR
    missing = (target * hours - reward).quantize(CENT, ROUND_UP) if target is not None else Decimal(0)
    return HourlyPay(median, (reward / hours).quantize(CENT), target, max(missing, Decimal(0)))
