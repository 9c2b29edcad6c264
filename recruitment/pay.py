"""What work was worth by the hour, and what is missing. Pure functions of plain values."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_UP, Decimal

CENT = Decimal("0.01")
HOUR = 3600
FEWEST = 5
"""Pieces of work from which on their median time says something."""
SHORTEST = 5.0
"""Seconds: nobody reads two sentences and answers in less, so a shorter median is of machines or mistakes."""


@dataclass(frozen=True, slots=True)
class HourlyPay:
    """What a campaign has paid by the hour, by the median time that its work took."""

    median_seconds: float
    per_hour: Decimal
    target: Decimal | None
    top_up: Decimal
    """What is missing for one piece of work, in whole cents; 0 when nothing is."""

    @property
    def median_minutes(self) -> float:
        return self.median_seconds / 60


def hourly_pay(reward: Decimal, median: float, target: Decimal | None, *, pieces: int) -> HourlyPay | None:
    """The pay per hour of so many pieces of work that took ``median`` seconds; None for too few or too short.

    The median is what platforms judge by as well (Prolific: by the median of the real times). What is
    missing is rounded up to the next cent, so that nobody is left below the target.
    """
    if pieces < FEWEST or median < SHORTEST:
        return None
    hours = Decimal(str(median)) / HOUR
    missing = (target * hours - reward).quantize(CENT, ROUND_UP) if target is not None else Decimal(0)
    return HourlyPay(median, (reward / hours).quantize(CENT), target, max(missing, Decimal(0)))
