"""Bootstrap intervals over stories, in constant memory however many stories there are. Pure and seeded.

Drawing as many stories as there are, with replacement, and counting the patterns of votes among the drawn
ones gives multinomial numbers; and a coefficient of agreement depends on nothing but these numbers. So
drawing the numbers is not an approximation of drawing the stories: it is the same bootstrap.

The interval is the percentile interval of Efron and Tibshirani (1993), "An Introduction to the Bootstrap",
section 13.3: of B values in order, the one at place B·(1 − level)/2 and the one at place B·(1 + level)/2.

The numbers come from ``numpy.random.RandomState``: numpy promises that its stream never changes, so whoever
checks a release years later draws the same resamples. The newer generators make no such promise.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np

from publishing.marking import gettext_noop
from publishing.statistics.agreement import ESTIMATES, Floats, Integers, Sums, sums_of

_ENTRIES = 1 << 21
"""Patterns × resamples held at a time: 16 MB of numbers."""

UNDEFINED_TOO_OFTEN = gettext_noop("The coefficient is undefined in too many of the resamples.")
NO_VARIATION = gettext_noop(
    "Every resample gives the same value, so resampling says nothing about how sure it is."
)


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """How intervals are made: how many resamples, from which seed, for which share of them."""

    resamples: int = 1000
    seed: int = 1
    level: float = 0.95

    def __post_init__(self) -> None:
        if self.resamples < 1 or not 0 < self.level < 1:
            raise ValueError("An interval needs at least one resample, and a level between 0 and 1.")


@dataclass(frozen=True, slots=True)
class Interval:
    """The bounds, or None with the reason; and in how many resamples the coefficient was undefined."""

    bounds: tuple[float, float] | None
    undefined: str = ""
    undefined_resamples: int = 0


def intervals(
    names: Collection[str], counts: Integers, members: Integers, stories: Integers, design: Bootstrap
) -> dict[str, Interval]:
    """An interval for each of these coefficients, which must be defined for the stories as they are.

    ``counts`` (units × categories) are the different units there are; ``members`` (patterns × units) says
    how many of each unit a story with this pattern has; ``stories`` says how many stories show each
    pattern, at least one in all. Whole stories are drawn, with all their units.
    """
    drawn = [
        {name: ESTIMATES[name](sums) for name in names}
        for sums in _resampled(counts, members, stories, design)
    ]
    return {name: interval(np.concatenate([values[name] for values in drawn]), design) for name in names}


def interval(values: Floats, design: Bootstrap) -> Interval:
    """The percentile interval of the values of all resamples, NaN where the coefficient was undefined.

    Resamples in which it was undefined are left out and counted. When they are more than the interval
    leaves out at its two ends together, there is no interval: what was left out would decide it.
    """
    known = np.sort(values[~np.isnan(values)])
    missing = len(values) - len(known)
    if missing > round(len(values) * (1 - design.level), 9):
        return Interval(None, UNDEFINED_TOO_OFTEN, missing)
    if known[0] == known[-1]:
        return Interval(None, NO_VARIATION, missing)
    low, high = (_place(len(known), share) for share in ((1 - design.level) / 2, (1 + design.level) / 2))
    return Interval((float(known[low]), float(known[high])), "", missing)


def _place(values: int, share: float) -> int:
    """The index of the value at place ``values · share``, rounded up to a whole place.

    Rounding to nine decimals first keeps 1000 · (1 − 0.95)/2 = 25.00000000000002 from becoming place 26.
    """
    return min(max(math.ceil(round(values * share, 9)), 1), values) - 1


def _resampled(counts: Integers, members: Integers, stories: Integers, design: Bootstrap) -> Iterator[Sums]:
    """The sums of every resample, a bounded number of resamples at a time."""
    random = np.random.RandomState(design.seed)
    total = int(stories.sum())
    at_a_time = max(1, _ENTRIES // len(stories))
    for start in range(0, design.resamples, at_a_time):
        size = min(at_a_time, design.resamples - start)
        drawn = random.multinomial(total, stories / total, size=size)
        yield sums_of(counts, drawn @ members)
