"""Statistics of ratings on a scale: mean, median, and agreement to which near answers add in part. Pure.

A unit is what people rate: an item, or one row of a table about it. Every estimate gets the numbers of the
scale, ascending, and the votes, and returns an array with one value per line of frequencies, NaN where it is
undefined. Sums are sums of integers, as in :mod:`publishing.statistics.agreement`, so values do not depend on
the order of items or on the machine.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from statistics import fmean, stdev
from typing import Any

import numpy as np

from publishing.files.features import Type
from publishing.files.rows import AnyVotes, Row
from publishing.statistics.agreement import (
    NO_PAIR,
    NO_STORY,
    ONE_CATEGORY_CHOSEN,
    Pattern,
    Votes,
    ratio,
    units_of,
    weighted_agreement,
)
from publishing.statistics.intervals import Floats, Integers, Interval, documented, quantile_of_t, rounded

COLUMNS: dict[str, Type] = {
    **dict.fromkeys(("story_id", "rated"), "string"),
    "ratings": "int64",
    **dict.fromkeys(("mean", "mean_low", "mean_high"), "float64"),
}
"""The columns of :func:`rating_rows`."""
PLACES = 6
"""Decimals of an item's mean and its interval."""
LEVELS = ("mean", "median")
"""The estimates that tell how high ratings are, by their names in statistics.json."""


def mean(numbers: Integers, votes: Votes) -> Floats:
    """Return the mean of all ratings. By hand: 1, 4, 5 and 4, 4, 4 have the mean 22/6."""
    return ratio(votes.chosen @ numbers, votes.chosen.sum(axis=-1))


def median(numbers: Integers, votes: Votes) -> Floats:
    """Return the middle rating, or the mean of the two in the middle: 4 of 1, 4, 4, 5, and 1.5 of 1, 2."""
    upto = np.cumsum(votes.chosen, axis=-1)
    total = upto[..., -1:]
    low, high = (numbers[np.argmax(upto >= place, axis=-1)] for place in ((total + 1) // 2, total // 2 + 1))
    return np.where(total[..., 0] > 0, (low + high) / 2, np.nan)


def ordinal_alpha(numbers: Integers, votes: Votes) -> Floats:
    """Return Krippendorff's alpha with the ordinal metric, for units with any number of ratings.

    Krippendorff (2011), "Computing Krippendorff's Alpha-Reliability": over the units with two ratings or
    more, with n_c ratings of number c, n in all, and o_ck = Σ_u n_uc n_uk / (n_u − 1),

        δ²_ck = (Σ_{g=c..k} n_g − (n_c + n_k) / 2)²,
        α = 1 − (n − 1) Σ_{c<k} o_ck δ²_ck / Σ_{c<k} n_c n_k δ²_ck.

    Undefined when no unit has two ratings and when all ratings on such units are the same.
    """
    if not votes.paired:
        return np.full(votes.frequencies.shape[:-1], np.nan)
    chosen = np.asarray(sum(group.chosen for _, group in votes.paired))
    upto = np.cumsum(chosen, axis=-1)
    observed = expected = np.zeros(chosen.shape[:-1])
    for high in range(len(numbers)):
        for low in range(high):
            apart = (upto[..., high] - upto[..., low] + (chosen[..., low] - chosen[..., high]) / 2) ** 2
            pairs = sum(
                (group.frequencies @ (group.counts[:, low] * group.counts[:, high])) / (size - 1)
                for size, group in votes.paired
            )
            observed = observed + pairs * apart
            expected = expected + chosen[..., low].astype(float) * chosen[..., high] * apart
    return 1 - ratio((upto[..., -1] - 1) * observed, expected)


def gwet_ac2(numbers: Integers, votes: Votes) -> Floats:
    """Return Gwet's AC2 with quadratic weights: agreement beyond chance, where near answers agree in part.

    Gwet (2014), "Handbook of Inter-Rater Reliability", 4th edition: the weight of numbers c and k is
    1 − (c − k)² / (highest − lowest)². Undefined when no unit has two ratings.
    """
    return weighted_agreement(votes, (numbers[-1] - numbers[0]) ** 2 - (numbers[:, None] - numbers) ** 2)


ESTIMATES: Mapping[str, Callable[[Integers, Votes], Floats]] = {
    "mean": mean,
    "median": median,
    "krippendorff_alpha_ordinal": ordinal_alpha,
    "gwet_ac2": gwet_ac2,
}
"""Estimates by their names in statistics.json."""


def ratings_of(
    items: Mapping[Pattern, int], scale: Sequence[str], names: Sequence[str] = tuple(ESTIMATES)
) -> dict[str, Any]:
    """Return the entry in statistics.json, given the number of items per pattern of ratings.

    ``scale`` are the numbers offered, as text. Intervals are percentile intervals of a bootstrap that draws
    whole items. An undefined estimate is None, with a reason.
    """
    known = units_of(items, scale)
    found: dict[str, float | None] = dict.fromkeys(names)
    bounds = dict.fromkeys(names, Interval(None))
    reason, chosen = NO_STORY, [0] * len(scale)
    if known is not None:
        numbers = np.array([int(option) for option in scale], np.int64)
        votes = known.votes(known.stories)
        estimates = {name: partial(ESTIMATES[name], numbers) for name in names}
        values = {name: float(estimate(votes)) for name, estimate in estimates.items()}
        found = {name: None if math.isnan(value) else value for name, value in values.items()}
        chosen = votes.chosen.tolist()
        reason = ONE_CATEGORY_CHOSEN if votes.paired else NO_PAIR
        bounds |= known.intervals({name: estimates[name] for name in names if found[name] is not None})
    return {
        **{name: rounded(value) for name, value in found.items()},
        "items": sum(items.values()),
        "ratings": sum(chosen),
        "chosen": dict(zip(scale, chosen, strict=True)),
        **documented(bounds, {name: reason for name, value in found.items() if value is None}),
    }


def rating_rows(story_id: str, votes: AnyVotes, scales: Collection[str]) -> Iterator[Row]:
    """Yield the rows of a complete item's ratings, one for each field of a question with a scale."""
    given: defaultdict[str, list[int]] = defaultdict(list)
    for vote in votes:
        for choice in vote.answers:
            if choice.question in scales:
                given[choice.field].append(int(choice.option))
    for rated, ratings in sorted(given.items()):
        middle, bounds = mean_of_item(sorted(ratings))
        low, high = [round(bound, PLACES) for bound in bounds] if bounds else (None, None)
        found = {"mean": round(middle, PLACES), "mean_low": low, "mean_high": high}
        yield {"story_id": story_id, "rated": rated, "ratings": len(ratings), **found}


def mean_of_item(ratings: Sequence[int]) -> tuple[float, tuple[float, float] | None]:
    """Return the mean of one item's ratings, and its 95 % interval by Student's t, which may leave the scale.

    The interval is None with fewer than two ratings, and if all are equal: that would read as certainty.
    """
    middle = fmean(ratings)
    if len(set(ratings)) < 2:
        return middle, None
    half = quantile_of_t(len(ratings) - 1, 0.975) * stdev(ratings) / math.sqrt(len(ratings))
    return middle, (middle - half, middle + half)
