"""Forecasts of the end and the cost of a study, each with a range. Pure.

The true value lies in the range about nine times in ten; a test measures this. Both forecasts assume that
people go on as before: nobody foresees a recruiting drive.
"""

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from publishing.statistics.intervals import quantile_of_t

TAIL = 0.05
"""The chance that a range leaves out on either side."""
MOST_DAYS, WEEK = 14, 7
"""Older days say little about the next ones; of seven days or more, whole weeks are taken."""
FEWEST_WINDOWS = 3
FEWEST_PEOPLE = 10
"""With fewer people, the range would claim more than the data support."""

TOO_EARLY, NO_VOTES, DONE = "too_early", "no_votes", "done"
"""Reasons for no forecast: too little was seen, nobody has voted lately, nothing is left to do."""


def hour_of(moment: datetime) -> int:
    """Return the number of whole hours from 1970 to the moment, the unit in which votes are counted."""
    return int(moment.timestamp() // 3600)


def finish(hourly: Mapping[int, int], *, remaining: int, now: datetime) -> dict[str, Any]:
    """Forecast the time of the last remaining vote from the votes per hour.

    ``hourly`` maps :func:`hour_of` to votes. The forecast uses the last days (spans of 24 hours back from
    now, as far as the first vote reaches): up to 14, and only whole weeks once there is one, so that weekends
    have their share. With less than three days of votes it uses up to 71 single hours; with less than three
    hours there is no forecast.

    Return ``finish``, ``earliest`` and ``latest`` (None: possibly never), ``per_day``, and ``windows`` with
    ``window_hours``; or ``none`` with one of the reasons above.

    With n days of mean m and standard deviation s, the next D days bring D·m votes, give or take t·s·sqrt(D +
    D²/n): each day differs, and so does the observed mean (prediction of a sum of future observations; Hahn
    and Meeker, Statistical Intervals, 1991, section 4.7; t of n - 1 degrees of freedom). The range has the D
    at which that band reaches the remaining votes.
    """
    if remaining <= 0:
        return {"none": DONE}
    if not hourly:
        return {"none": NO_VOTES}
    counts, hours = _windows(hourly, hour_of(now))
    if len(counts) < FEWEST_WINDOWS:
        return {"none": TOO_EARLY}
    mean = float(np.mean(counts))
    if not mean:
        return {"none": NO_VOTES}
    fewest, most = _until(remaining, mean, float(np.std(counts, ddof=1)), len(counts))
    return {
        "finish": _after(now, hours * remaining / mean),
        "earliest": _after(now, hours * fewest),
        "latest": _after(now, hours * most),
        "per_day": mean * 24 / hours,
        "windows": len(counts),
        "window_hours": hours,
    }


def _windows(hourly: Mapping[int, int], end: int) -> tuple[list[int], int]:
    """Return the votes in each window of the forecast, the latest first, and the hours in a window."""
    age = end - min(hourly)
    days = min(age // 24, MOST_DAYS)
    if days >= WEEK:
        days -= days % WEEK
    hours, windows = (24, days) if days >= FEWEST_WINDOWS else (1, max(age, 0))
    counts = [0] * windows
    for hour, votes in hourly.items():
        back = (end - 1 - hour) // hours
        if 0 <= back < windows:
            counts[back] += votes
    return counts, hours


def _until(remaining: int, mean: float, deviation: float, windows: int) -> tuple[float, float]:
    """Return the fewest and the most windows that the remaining votes take.

    They are the two D with ``(D·mean - remaining)² = spread²·(D + D²/windows)``. The second is infinite if
    the band never reaches the remaining votes.
    """
    spread2 = (quantile_of_t(windows - 1, 1 - TAIL) * deviation) ** 2
    square = mean * mean - spread2 / windows
    half = remaining * mean + spread2 / 2
    root = math.sqrt(max(half * half - square * remaining**2, 0.0))
    fewest = remaining**2 / (half + root)
    return fewest, (half + root) / square if square > 0 else math.inf


def _after(now: datetime, hours: float) -> datetime | None:
    """Return the moment so many hours from now; None if that is never or centuries away."""
    return (now + timedelta(hours=hours)).astimezone(UTC) if hours < 24 * 365 * 200 else None


def seconds_per_vote(paces: Sequence[tuple[int, float]]) -> dict[str, float | None] | None:
    """Return the paid time per vote: ``mean`` with ``low`` and ``high``, in seconds. None without votes.

    ``paces`` has (votes, median seconds) per participant. A participant's time is votes × median, as in
    ``annotation.working_time.estimated_pay``: a story left open over lunch is not an hour of work. The range
    is that of a ratio of two sums over participants, because votes of one participant resemble each other
    (Cochran, Sampling Techniques, 1977, section 6.3; t of one degree less than participants). There is no
    range with fewer than :data:`FEWEST_PEOPLE`.
    """
    if not paces:
        return None
    votes = np.array([count for count, _ in paces], np.float64)
    time = votes * np.array([pace for _, pace in paces])
    mean, people = float(time.sum() / votes.sum()), len(paces)
    if people < FEWEST_PEOPLE:
        return {"mean": mean, "low": None, "high": None}
    error = math.sqrt(people / (people - 1) * float(((time - mean * votes) ** 2).sum())) / float(votes.sum())
    margin = quantile_of_t(people - 1, 1 - TAIL) * error
    return {"mean": mean, "low": max(mean - margin, 0.0), "high": mean + margin}
