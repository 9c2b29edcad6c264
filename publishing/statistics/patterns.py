"""Agreement computed from patterns of answers and their frequencies.

A study with three votes on three options has ten patterns, however many stories it has. So everything here
takes the same time and memory for a thousand stories and for a million.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from publishing.statistics.agreement import ESTIMATES, Coefficient, Integers, coefficient, sums_of
from publishing.statistics.intervals import Bootstrap, Interval, intervals
from publishing.translation import gettext_noop

Unit = tuple[str, ...]
"""The options chosen by the votes on one unit, sorted: ``("no", "yes", "yes")``."""
Pattern = tuple[Unit, ...]
"""The units of one question about one story, sorted: one, or one per row of a table."""

DIGITS = 10
NO_STORY = gettext_noop("No story has all its votes on this.")


@dataclass(frozen=True, slots=True)
class Agreement:
    """Agreement on one question. ``scale_is_offered`` is False if the categories are those seen."""

    categories: int
    scale_is_offered: bool
    stories: int
    units: int
    coefficients: Mapping[str, Coefficient]
    intervals: Mapping[str, Interval]

    def document(self) -> dict[str, Any]:
        """Return the entry in statistics.json: plain values, in a fixed order, rounded."""
        resamples = {name: found.undefined_resamples for name, found in self.intervals.items()}
        return {
            **{name: rounded(found.value) for name, found in self.coefficients.items()},
            "categories": self.categories,
            "categories_are": "offered" if self.scale_is_offered else "seen",
            "stories": self.stories,
            "units": self.units,
            "intervals": {
                name: None if found.bounds is None else [rounded(bound) for bound in found.bounds]
                for name, found in self.intervals.items()
            },
            "undefined": {n: found.undefined for n, found in self.coefficients.items() if found.undefined},
            "undefined_intervals": {
                name: found.undefined for name, found in self.intervals.items() if found.undefined
            },
            "undefined_resamples": {name: number for name, number in resamples.items() if number},
        }


def agreement_of(
    stories: Mapping[Pattern, int], scale: Sequence[str] = (), design: Bootstrap | None = None
) -> Agreement:
    """Compute agreement from the number of stories per pattern, with an interval for each coefficient.

    ``scale`` are the options offered to everybody, chosen or not. Without it (options that depend on the
    item), the categories are the options seen, which makes Gwet's AC1 smaller than the whole scale would. A
    chosen option outside the scale is one more category. Patterns without a unit do not count. The order of
    patterns, units and votes does not matter.
    """
    known = units_of(stories, scale)
    if known is None:
        return undefined(NO_STORY, scale, stories=0)
    units = known.units(known.stories)
    sums = sums_of(known.counts, units)
    found = {name: coefficient(name, sums) for name in ESTIMATES}
    return Agreement(
        categories=known.counts.shape[1],
        scale_is_offered=bool(scale),
        stories=int(known.stories.sum()),
        units=int(units.sum()),
        coefficients=found,
        intervals=_intervals(found, known, design or Bootstrap()),
    )


class Units(NamedTuple):
    """The distinct units of some stories.

    ``counts`` (units × categories) has the votes of each; ``members`` (patterns × units) says how often a
    pattern has it, ``stories`` how many stories have each pattern. ``members`` is None if every pattern is
    one unit: patterns and units are then the same, in the same order.
    """

    counts: Integers
    members: Integers | None
    stories: Integers

    def units(self, stories: Integers) -> Integers:
        """Return how often each unit occurs (… × units), given how often each pattern does."""
        return stories if self.members is None else np.asarray(stories @ self.members)


def units_of(stories: Mapping[Pattern, int], scale: Sequence[str]) -> Units | None:
    """Return the units in a fixed order, or None if there are none; see :func:`agreement_of`."""
    tidy: Counter[Pattern] = Counter()
    for pattern, number in stories.items():
        if pattern and number:
            tidy[tuple(sorted(tuple(sorted(unit)) for unit in pattern))] += number
    patterns = sorted(tidy)
    units = sorted({unit for pattern in patterns for unit in pattern})
    seen = {option for unit in units for option in unit}
    categories = [*scale, *sorted(seen.difference(scale))]
    counts = [[unit.count(option) for option in categories] for unit in units]
    alone = all(len(pattern) == 1 for pattern in patterns)
    members = [[pattern.count(unit) for unit in units] for pattern in patterns if not alone]
    found = Units(
        _matrix(counts, len(categories)),
        None if alone else _matrix(members, len(units)),
        np.array([tidy[pattern] for pattern in patterns], np.int64),
    )
    return found if patterns else None


def undefined(reason: str, scale: Sequence[str], *, stories: int) -> Agreement:
    """Return an agreement that cannot be computed, with the reason."""
    coefficients = dict.fromkeys(ESTIMATES, Coefficient(None, reason))
    bounds = dict.fromkeys(ESTIMATES, Interval(None, reason))
    return Agreement(len(scale), bool(scale), stories, 0, coefficients, bounds)


def rounded(value: float | None) -> float | None:
    """Round to ten decimals, far below anything meaningful; never ``-0.0``."""
    return None if value is None else round(value, DIGITS) + 0.0


def _matrix(rows: Sequence[Sequence[int]], columns: int) -> Integers:
    return np.array(rows, np.int64).reshape(len(rows), columns)


def _intervals(found: Mapping[str, Coefficient], known: Units, design: Bootstrap) -> dict[str, Interval]:
    defined = [name for name, result in found.items() if not result.undefined]
    made = intervals(defined, known.counts, known.members, known.stories, design) if defined else {}
    return {name: made.get(name) or Interval(None, result.undefined) for name, result in found.items()}
