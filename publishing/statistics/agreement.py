"""Coefficients of agreement between votes on a nominal scale. Pure functions of counts; numpy only.

A unit is what people vote on: a story, or one row of a table about it. ``counts`` (units × categories) is the
number of votes per unit and category. It has a column for **every category of the scale**, even unused ones:
Gwet's AC1 depends on their number. Units may have different numbers of votes. ``frequencies`` is the number
of equal units that each row represents.

An undefined coefficient has a reason instead of a value (:func:`why_undefined`).

Sums over units are sums of integers, and the few divisions are written out one by one, so values depend
neither on the order of units nor on the machine.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from django.utils.translation import gettext_noop
from numpy.typing import ArrayLike

from publishing.statistics.intervals import (
    Bootstrap,
    Floats,
    Integers,
    Interval,
    documented,
    intervals,
    rounded,
)

NO_PAIR = gettext_noop("Nothing has two votes, so there is nothing to compare.")
UNEQUAL_VOTES = gettext_noop(
    "Fleiss' kappa needs the same number of votes everywhere, and here the numbers differ."
)
ONE_CATEGORY_CHOSEN = gettext_noop(
    "Every vote chose the same category: chance alone would agree fully, so agreement cannot be set "
    "against it."
)
ONE_CATEGORY_OFFERED = gettext_noop("The scale has fewer than two categories, so votes cannot differ.")


@dataclass(frozen=True, eq=False)
class Votes:
    """Votes by unit, and the sums over them.

    ``frequencies`` is a vector with one number per row of ``counts``, or a matrix of such vectors; with a
    matrix, every sum is a vector with one entry per line.
    """

    counts: Integers
    frequencies: Integers

    @cached_property
    def units(self) -> Integers:
        return np.asarray(self.frequencies.sum(axis=-1))

    @cached_property
    def chosen(self) -> Integers:
        """The number of votes in each category (… × categories)."""
        return np.asarray(self.frequencies @ self.counts)

    @cached_property
    def agreeing(self) -> Integers:
        """The number of ordered pairs of agreeing votes on one unit."""
        return np.asarray(self.frequencies @ (self.counts * (self.counts - 1)).sum(axis=1))

    @cached_property
    def by_size(self) -> tuple[tuple[int, Votes], ...]:
        """The units with equally many votes, and that number, if it is not 0."""
        sizes = self.counts.sum(axis=1)
        rows = [(int(size), sizes == size) for size in np.unique(sizes[sizes > 0])]
        return tuple((size, Votes(self.counts[of], self.frequencies[..., of])) for size, of in rows)

    @property
    def paired(self) -> list[tuple[int, Votes]]:
        """The groups of ``by_size`` whose units have at least two votes."""
        return [(size, group) for size, group in self.by_size if size > 1]


def why_undefined(name: str, votes: Votes) -> str:
    """Return why one of :data:`ESTIMATES` is undefined for one set of frequencies; empty if it is defined."""
    if not any(group.units for _, group in votes.paired):
        return NO_PAIR
    if name == "gwet_ac1":
        return "" if votes.counts.shape[1] > 1 else ONE_CATEGORY_OFFERED
    if name == "percent":
        return ""
    if name == "fleiss_kappa" and sum(bool(group.units) for _, group in votes.by_size) > 1:
        return UNEQUAL_VOTES
    return "" if _differing(votes) else ONE_CATEGORY_CHOSEN


def percent_agreement(votes: Votes) -> Floats:
    """The share of pairs of votes on one unit that agree, averaged over the units with two votes or more.

    Fleiss (1971), "Measuring nominal scale agreement among many raters", Psychological Bulletin 76(5):
    with n_ij of the n_i votes on unit i in category j,

        P_i = Σ_j n_ij (n_ij − 1) / (n_i (n_i − 1)),   P̄ = the mean of the P_i.

    By hand: three votes on each of two stories, (3 yes, 0 no) and (2 yes, 1 no). P_1 = 1, and P_2 =
    2·1 / (3·2) = 1/3, so P̄ = 2/3.

    Undefined when no unit has two votes.
    """
    agreeing = sum(group.agreeing / (size * (size - 1)) for size, group in votes.paired)
    return ratio(agreeing, sum(group.units for _, group in votes.paired))


def fleiss_kappa(votes: Votes) -> Floats:
    """Agreement beyond what the overall shares of the categories would give by chance.

    Fleiss (1971), as above: with p_j the share of all votes in category j,

        P̄_e = Σ_j p_j²,   κ = (P̄ − P̄_e) / (1 − P̄_e).

    By hand, for (3, 0) and (2, 1): p = (5/6, 1/6), P̄_e = 26/36, κ = (24/36 − 26/36) / (10/36) = −1/5.

    Computed as 1 − (1 − P̄) / (1 − P̄_e). Undefined when no unit has two votes, when the units have different
    numbers of votes (the paper has one n), and when all votes are in one category.
    """
    number = _number(votes)
    return 1 - (1 - percent_agreement(votes)) * ratio(number * number, _differing(votes))


def krippendorff_alpha(votes: Votes) -> Floats:
    """Agreement beyond chance for units with any number of votes, corrected for small samples; nominal.

    Krippendorff (2011), "Computing Krippendorff's Alpha-Reliability", for nominal data, any number of
    observers and missing data: over the units with two votes or more, with n votes in all on them, n_j of
    these in category j,

        α = 1 − D_o / D_e = 1 − (n − 1) · Σ_i [n_i² − Σ_j n_ij²] / (n_i − 1)  /  (n² − Σ_j n_j²).

    By hand, for (3, 0) and (2, 1): n = 6, n_j = (5, 1), disagreeing pairs (9 − 9)/2 + (9 − 5)/2 = 2,
    α = 1 − 5·2 / (36 − 26) = 0.

    Undefined when no unit has two votes and when all votes on units with two are in one category.
    """
    disagreeing = sum(
        (size * (size - 1) * group.units - group.agreeing) / (size - 1) for size, group in votes.paired
    )
    return 1 - ratio((_number(votes) - 1) * disagreeing, _differing(votes))


def gwet_ac1(votes: Votes) -> Floats:
    """Agreement beyond chance, where chance is limited to votes given at random.

    Gwet (2008), "Computing inter-rater reliability and its variance in the presence of high agreement",
    British Journal of Mathematical and Statistical Psychology 61; units without some of the votes as in
    Gwet (2014), "Handbook of Inter-Rater Reliability", 4th edition: with q categories on the scale, and
    π_j the mean over the units with any vote of the share of its votes in category j,

        P_e = Σ_j π_j (1 − π_j) / (q − 1),   AC1 = (P̄ − P_e) / (1 − P_e).

    By hand, for (3, 0) and (2, 1): π = (5/6, 1/6), P_e = 2 · 5/36 / 1 = 10/36, AC1 = (24 − 10) / (36 − 10)
    = 7/13. With a third category that nobody chose: P_e = 5/36, AC1 = (24 − 5) / (36 − 5) = 19/31.

    Undefined when no unit has two votes and when the scale has fewer than two categories.
    """
    return weighted_agreement(votes, np.eye(votes.counts.shape[1], dtype=np.int64))


def weighted_agreement(votes: Votes, weights: Integers) -> Floats:
    """Gwet's coefficient where a pair of votes agrees in part: by its weight, over that of an equal pair.

    Gwet (2014), as above: with weights w_jk of 1 for j = k, and P_a the mean over the units with n_i > 1
    votes of Σ_j n_ij (Σ_k w_jk n_ik − 1) / (n_i (n_i − 1)),

        P_e = Σ_jk w_jk / (q (q − 1)) · Σ_j π_j (1 − π_j),   AC2 = (P_a − P_e) / (1 − P_e).
    """
    whole, categories = weights[0, 0], len(weights)
    alike = paired = np.zeros(votes.frequencies.shape[:-1])
    for size, group in votes.paired:
        pairs = group.frequencies @ (group.counts * (group.counts @ weights - whole)).sum(axis=1)
        alike = alike + pairs / (whole * size * (size - 1))
        paired = paired + group.units
    units = sum(group.units for _, group in votes.by_size)
    parts = np.asarray(sum(group.chosen / size for size, group in votes.by_size))
    chance = np.zeros(alike.shape)
    for category in range(categories):
        share = ratio(parts[..., category], units)
        chance = chance + share * (1 - share) * (weights.sum() / whole / (categories * (categories - 1)))
    return 1 - ratio(1 - ratio(alike, paired), 1 - chance)


def _number(votes: Votes) -> Integers:
    """Count the votes on units with two votes or more."""
    return np.asarray(sum(size * group.units for size, group in votes.paired))


def _differing(votes: Votes) -> Integers:
    """n² − Σ_j n_j²: of all ordered pairs of the votes on units with two or more, those that differ."""
    chosen, number = np.asarray(sum(group.chosen for _, group in votes.paired)), _number(votes)
    return np.asarray(number * number - (chosen * chosen).sum(axis=-1))


def ratio(numerator: ArrayLike, denominator: ArrayLike) -> Floats:
    """Divide; NaN where the denominator is 0. Such a NaN stays within this package."""
    above, below = np.asarray(numerator, np.float64), np.asarray(denominator, np.float64)
    quotient: Floats = np.divide(above, below, out=np.full(above.shape, np.nan), where=below != 0)
    return quotient


ESTIMATES: Mapping[str, Callable[[Votes], Floats]] = MappingProxyType(
    {
        "percent": percent_agreement,
        "fleiss_kappa": fleiss_kappa,
        "krippendorff_alpha": krippendorff_alpha,
        "gwet_ac1": gwet_ac1,
    }
)
"""Coefficients by their names in statistics.json: one value per set of frequencies, NaN if undefined."""


Unit = tuple[str, ...]
"""The options chosen by the votes on one unit, sorted: ``("no", "yes", "yes")``."""
Pattern = tuple[Unit, ...]
"""The units of one question about one story, sorted: one, or one per row of a table."""

NO_STORY = gettext_noop("No story has all its votes on this.")


def agreement_of(stories: Mapping[Pattern, int], scale: Sequence[str] = ()) -> dict[str, Any]:
    """Return the entry in statistics.json about one question, given the number of stories per pattern.

    ``scale`` are the options offered to everybody, chosen or not. Without it (options that depend on the
    item), the categories are the options seen, which makes Gwet's AC1 smaller than the whole scale would. A
    chosen option outside the scale is one more category. Patterns without a unit do not count. The order of
    patterns, units and votes does not matter.
    """
    known = units_of(stories, scale)
    if known is None:
        return undefined(NO_STORY, scale, stories=0)
    votes = known.votes(known.stories)
    reasons = {name: why_undefined(name, votes) for name in ESTIMATES}
    defined = {name: estimate for name, estimate in ESTIMATES.items() if not reasons[name]}
    values = {name: float(estimate(votes)) for name, estimate in defined.items()}
    totals = {"stories": int(known.stories.sum()), "units": int(votes.units)}
    made = known.intervals(defined)
    return _entry(reasons, values, made, scale, categories=known.counts.shape[1], **totals)


class Units(NamedTuple):
    """The distinct units of some stories.

    ``counts`` (units × categories) has the votes of each; ``members`` (patterns × units) says how often a
    pattern has it, ``stories`` how many stories have each pattern. ``members`` is None if every pattern is
    one unit: patterns and units are then the same, in the same order.
    """

    counts: Integers
    members: Integers | None
    stories: Integers

    def votes(self, stories: Integers) -> Votes:
        """Return the votes, given how often each pattern occurs (… × patterns)."""
        return Votes(self.counts, stories if self.members is None else np.asarray(stories @ self.members))

    def intervals(self, estimates: Mapping[str, Callable[[Votes], Floats]]) -> dict[str, Interval]:
        """Return the interval of each estimate, which must be defined for the stories as they are."""

        def again(stories: Integers) -> dict[str, Floats]:
            votes = self.votes(stories)
            return {name: estimate(votes) for name, estimate in estimates.items()}

        return intervals(again, self.stories, Bootstrap()) if estimates else {}


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


def undefined(reason: str, scale: Sequence[str], *, stories: int) -> dict[str, Any]:
    """Return the entry about agreement that cannot be computed, with the reason."""
    reasons = dict.fromkeys(ESTIMATES, reason)
    return _entry(reasons, {}, {}, scale, categories=len(scale), stories=stories, units=0)


def _entry(
    reasons: Mapping[str, str],
    values: Mapping[str, float],
    made: Mapping[str, Interval],
    scale: Sequence[str],
    *,
    categories: int,
    stories: int,
    units: int,
) -> dict[str, Any]:
    bounds = {name: made.get(name) or Interval(None, reason) for name, reason in reasons.items()}
    return {
        **{name: rounded(values.get(name)) for name in reasons},
        "categories": categories,
        "categories_are": "offered" if scale else "seen",
        "stories": stories,
        "units": units,
        **documented(bounds, reasons),
    }


def _matrix(rows: Sequence[Sequence[int]], columns: int) -> Integers:
    return np.array(rows, np.int64).reshape(len(rows), columns)
