"""When a study will be finished and what it will cost, each with a range. Pure and seeded.

Both are bootstraps, with 1,000 resamples and the range that holds 90 % of them (Efron and Tibshirani, 1993,
section 13.3). They assume that people go on as they did: nobody foresees a recruiting drive.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 1000
SEED = 1
LOW, HIGH = 0.05, 0.95
MOST_DAYS = 14
"""Older days say little about the next ones."""
FEWEST_WINDOWS = 3
_AT_A_TIME = 1 << 20
"""Resamples × people held at a time."""

TOO_EARLY, NO_VOTES, DONE = "too_early", "no_votes", "done"
"""Why there is no forecast: too little has been seen, nobody has voted lately, nothing is left to do."""


def hour_of(moment: datetime) -> int:
    """The whole hours from 1970 to the moment; what votes are counted by."""
    return int(moment.timestamp() // 3600)


def finish(hourly: Mapping[int, int], *, remaining: int, now: datetime) -> dict[str, Any]:
    """When the last of the remaining votes will come, from the numbers of votes per hour.

    ``hourly`` maps :func:`hour_of` to votes. The last 14 days (whole spans of 24 hours back from now, as
    far as the first vote reaches) are drawn again with replacement; the mean of each draw, in votes per
    day, gives one finish. With less than three days the same is done with the last up to 71 hours, and
    with less than three hours nothing is said.

    Returns ``finish``, ``earliest`` and ``latest`` (None: a draw in twenty never gets there),
    ``per_day``, and ``windows`` with ``window_hours``; or ``none`` with one of the reasons above.
    """
    if remaining <= 0:
        return {"none": DONE}
    if not hourly:
        return {"none": NO_VOTES}
    end = hour_of(now)
    age = end - min(hourly)
    hours = 24 if age >= FEWEST_WINDOWS * 24 else 1
    windows = min(age // hours, MOST_DAYS) if hours == 24 else age
    if windows < FEWEST_WINDOWS:
        return {"none": TOO_EARLY}
    counts = np.zeros(windows)
    for hour, votes in hourly.items():
        back = (end - 1 - hour) // hours
        if 0 <= back < windows:
            counts[back] += votes
    per_hour = counts.mean() / hours
    if not per_hour:
        return {"none": NO_VOTES}
    random = np.random.RandomState(SEED)
    means = random.choice(counts, size=(RESAMPLES, windows)).mean(axis=1) / hours
    slow, fast = np.quantile(means, (LOW, HIGH), method="inverted_cdf")
    return {
        "finish": _after(now, remaining, per_hour),
        "earliest": _after(now, remaining, fast),
        "latest": _after(now, remaining, slow),
        "per_day": float(per_hour * 24),
        "windows": windows,
        "window_hours": hours,
    }


def _after(now: datetime, votes: int, per_hour: float) -> datetime | None:
    """None where it is never, or not in this or the next two centuries."""
    if per_hour <= 0 or votes / per_hour > 24 * 365 * 200:
        return None
    return (now + timedelta(hours=votes / float(per_hour))).astimezone(UTC)


def seconds_per_vote(paces: Sequence[tuple[int, float]]) -> dict[str, float | None] | None:
    """The time that is paid for a vote: ``mean`` with ``low`` and ``high``, in seconds.

    ``paces`` has (votes, median seconds) per person. A person's time is votes × median, as in
    ``annotation.rules.estimated_pay``: a story left open over lunch is not an hour of work. The range
    draws people again with replacement, each with all their votes, because votes of one person resemble
    each other. None without votes; no range with a single person.
    """
    if not paces:
        return None
    votes = np.array([count for count, _ in paces], np.float64)
    time = votes * np.array([pace for _, pace in paces])
    mean = float(time.sum() / votes.sum())
    if len(paces) == 1:
        return {"mean": mean, "low": None, "high": None}
    ratios = np.concatenate(list(_resampled(votes, time)))
    low, high = np.quantile(ratios, (LOW, HIGH), method="inverted_cdf")
    return {"mean": mean, "low": float(low), "high": float(high)}


def _resampled(votes: NDArray[np.float64], time: NDArray[np.float64]) -> Any:
    """Time per vote in every draw of as many people, a bounded number of draws at a time."""
    random = np.random.RandomState(SEED)
    people = len(votes)
    at_a_time = max(1, min(RESAMPLES, _AT_A_TIME // people))
    for start in range(0, RESAMPLES, at_a_time):
        size = min(at_a_time, RESAMPLES - start)
        drawn = random.multinomial(people, np.full(people, 1 / people), size=size)
        yield (drawn @ time) / (drawn @ votes)
