"""Confidence intervals: a bootstrap over stories in constant memory, and Wilson's interval. Pure and seeded.

Drawing as many stories as there are, with replacement, and counting the patterns of votes among them gives
multinomial numbers; a coefficient of agreement depends on these numbers only. So drawing the numbers is not
an approximation of drawing the stories: it is the same bootstrap.

The interval is the percentile interval of Efron and Tibshirani (1993), "An Introduction to the Bootstrap",
section 13.3: of B ordered values, those at places B·(1 − level)/2 and B·(1 + level)/2.

The numbers come from ``numpy.random.RandomState``, whose stream numpy promises never to change, so a release
can be checked years later with the same resamples. The newer generators make no such promise.
"""

import math
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.utils.translation import gettext_noop
from numpy.typing import ArrayLike, NDArray

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

DIGITS = 10
_ENTRIES = 1 << 21
"""Patterns × resamples in memory at once (16 MB)."""
_COUNTED_AT_ONCE = 1 << 16
"""Clusters × resamples counted at once, so that they fit into the processor's cache."""

_Z = 1.959963984540054
"""The 97.5th percentile of the normal distribution."""

UNDEFINED_TOO_OFTEN = gettext_noop("The coefficient is undefined in too many of the resamples.")
NO_VARIATION = gettext_noop(
    "Every resample gives the same value, so resampling says nothing about how sure it is."
)


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """The design of intervals: number of resamples, seed, and level."""

    resamples: int = 1000
    seed: int = 1
    level: float = 0.95


@dataclass(frozen=True, slots=True)
class Interval:
    """The bounds, or None with the reason; and the number of resamples without a value."""

    bounds: tuple[float, float] | None
    undefined: str = ""
    undefined_resamples: int = 0


def intervals(
    estimates: Callable[[Integers], Mapping[str, Floats]], stories: Integers, design: Bootstrap
) -> dict[str, Interval]:
    """Compute an interval for each estimate, which must be defined for the stories as they are.

    ``stories`` is the number of stories per pattern, at least one in total; ``estimates`` returns one value
    per line of such numbers, by name.
    """
    drawn = [estimates(times) for times in resamples(stories, design)]
    return {name: interval(np.concatenate([one[name] for one in drawn]), design) for name in drawn[0]}


def documented(found: Mapping[str, Interval], undefined: Mapping[str, str]) -> dict[str, Any]:
    """Return what statistics.json says of intervals, with the reasons why estimates are undefined."""
    return {
        "intervals": {name: rounded_bounds(one.bounds) for name, one in found.items()},
        "undefined": {name: reason for name, reason in undefined.items() if reason},
        "undefined_intervals": {name: one.undefined for name, one in found.items() if one.undefined},
        "undefined_resamples": {
            name: one.undefined_resamples for name, one in found.items() if one.undefined_resamples
        },
    }


def rounded(value: float | None) -> float | None:
    """Round to ten decimals, far below anything meaningful; never ``-0.0``."""
    return None if value is None else round(value, DIGITS) + 0.0


def rounded_bounds(bounds: Sequence[float] | None) -> list[float | None] | None:
    return None if bounds is None else [rounded(bound) for bound in bounds]


def interval(values: Floats, design: Bootstrap) -> Interval:
    """Compute the percentile interval of the values of all resamples, NaN where undefined.

    Undefined resamples are left out and counted. If they are more than the interval cuts off at both ends
    together, there is no interval, because they would decide it.
    """
    known = values[~np.isnan(values)]
    missing = len(values) - len(known)
    if missing > round(len(values) * (1 - design.level), 9):
        return Interval(None, UNDEFINED_TOO_OFTEN, missing)
    if known.max() - known.min() < 10**-DIGITS:  # thirds differ in the last bit by the order of a sum
        return Interval(None, NO_VARIATION, missing)
    tail = round((1 - design.level) / 2, 9)  # 1000 · 0.02500000000000002 would be place 26
    low, high = np.quantile(known, (tail, 1 - tail), method="inverted_cdf").tolist()
    return Interval((low, high), "", missing)


class ClusterBootstrap:
    """Percentile intervals of ratios of sums over the same items, with clusters of items as the unit.

    Each resample draws as many clusters as there are, with replacement (the cluster bootstrap, Davison and
    Hinkley 1997, 3.8). Holds 2 bytes per cluster and resample.
    """

    def __init__(self, clusters: Sequence[str], design: Bootstrap, *, seed: Sequence[int] = ()) -> None:
        """Draw clusters, given the cluster of each item; ``seed`` replaces that of the design."""
        places: dict[str, int] = {}
        self._cluster_of = np.array([places.setdefault(name, len(places)) for name in clusters], np.intp)
        self._clusters, self._design = len(places), design
        self._drawn = np.empty((design.resamples, self._clusters), np.uint16)
        random = np.random.RandomState([*seed] or design.seed)
        parts = 1 + design.resamples * self._clusters // _COUNTED_AT_ONCE
        for part in np.array_split(self._drawn, parts) if self._clusters > 1 else ():
            chosen = random.randint(self._clusters, size=part.shape)
            chosen += np.arange(len(part))[:, np.newaxis] * self._clusters  # each resample's own numbers
            part[:] = np.bincount(chosen.ravel(), minlength=part.size).reshape(part.shape)

    def interval(self, numerators: ArrayLike, denominators: ArrayLike) -> tuple[float, float] | None:
        """Return the interval of Σ numerators / Σ denominators, which have one number per item.

        None with fewer than two clusters, and if all resamples are equal: that would read as certainty, but
        only means that the bootstrap cannot see the unseen.
        """
        if self._clusters < 2:
            return None
        summed = [np.bincount(self._cluster_of, given) for given in (numerators, denominators)]
        sums = np.stack(summed, axis=1)
        above, below = np.concatenate([part @ sums for part in np.array_split(self._drawn, 10)]).T
        with np.errstate(invalid="ignore"):  # a resample without such items is undefined
            return interval(above / below, self._design).bounds


STORIES_DRAWN = Bootstrap(seed=0)
"""The design of :func:`over_stories`."""


def over_stories(name: str, values: Sequence[tuple[str, float, float]]) -> tuple[float, float] | None:
    """Return the bootstrap interval of a ratio of sums, given (story, numerator, denominator) per item."""
    # In one order: the same answers give the same interval to the last digit.
    ordered = sorted(values)
    stories, seed = [story for story, _, _ in ordered], (STORIES_DRAWN.seed, zlib.crc32(name.encode()))
    bootstrap = ClusterBootstrap(stories, STORIES_DRAWN, seed=seed)
    return bootstrap.interval([above for _, above, _ in ordered], [below for _, _, below in ordered])


def resamples(stories: Integers, design: Bootstrap) -> Iterator[Integers]:
    """Yield how often each pattern is drawn (resamples × patterns), a bounded number at a time."""
    random = np.random.RandomState(design.seed)
    total = int(stories.sum())
    at_a_time = max(1, _ENTRIES // len(stories))
    for start in range(0, design.resamples, at_a_time):
        size = min(at_a_time, design.resamples - start)
        yield random.multinomial(total, stories / total, size=size)


def wilson(right: float, n: int) -> tuple[float, float] | None:
    """Return Wilson's 95 % score interval of a share; None without observations."""
    if n == 0:
        return None
    share = right / n
    middle = (share + _Z**2 / (2 * n)) / (1 + _Z**2 / n)
    half = _Z / (1 + _Z**2 / n) * math.sqrt(share * (1 - share) / n + _Z**2 / (4 * n**2))
    return max(0.0, middle - half), min(1.0, middle + half)


def quantile_of_t(degrees: int, probability: float) -> float:
    """Return the quantile of Student's t with so many degrees of freedom."""
    from scipy.special import stdtrit  # a fifth of the start of every process, and few need it

    return float(stdtrit(degrees, probability))
