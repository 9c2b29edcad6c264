"""Statistics of ratings, compared with krippendorff, numpy and sums written out pair by pair."""

from __future__ import annotations

import random
import statistics
from collections import Counter
from itertools import permutations

import krippendorff
import numpy as np
import pytest

from publishing.statistics.agreement import NO_PAIR, NO_STORY, ONE_CATEGORY_CHOSEN, Pattern
from publishing.statistics.ratings import mean_of_item, ratings_of

SCALE = ("1", "2", "3", "4", "5")
Items = list[tuple[int, ...]]


def document(items: Items, scale: tuple[str, ...] = SCALE) -> dict:  # type: ignore[type-arg]
    patterns: Counter[Pattern] = Counter((tuple(map(str, item)),) for item in items)
    return ratings_of(patterns, scale)


def random_items(seed: int, votes: tuple[int, ...], scale: tuple[str, ...] = SCALE) -> Items:
    draw = random.Random(seed)
    numbers = [int(number) for number in scale]
    items = []
    for _ in range(40):
        liked = draw.choice(numbers)
        near = [number for number in numbers if abs(number - liked) <= 1]
        items.append(
            tuple(draw.choice(near if draw.random() < 0.8 else numbers) for _ in range(draw.choice(votes)))
        )
    return items


def pair_by_pair(items: Items, scale: tuple[str, ...]) -> float:
    """Return AC2 with quadratic weights, each pair of ratings by itself."""
    numbers = [int(number) for number in scale]
    span = (numbers[-1] - numbers[0]) ** 2
    agreed = [
        statistics.fmean(1 - (one - other) ** 2 / span for one, other in permutations(item, 2))
        for item in items
        if len(item) > 1
    ]
    weights = sum(1 - (one - other) ** 2 / span for one in numbers for other in numbers)
    share = {n: statistics.fmean(item.count(n) / len(item) for item in items) for n in numbers}
    q = len(numbers)
    chance = weights / (q * (q - 1)) * sum(part * (1 - part) for part in share.values())
    return (statistics.fmean(agreed) - chance) / (1 - chance)


@pytest.mark.parametrize("scale", [SCALE, ("0", "1", "2", "3"), ("0", "1")])
@pytest.mark.parametrize("votes", [(2,), (20,), (1, 2, 5)])
def test_estimates_equal_those_of_other_libraries(votes: tuple[int, ...], scale: tuple[str, ...]) -> None:
    items = random_items(1, votes, scale)
    found = document(items, scale)
    every = [rating for item in items for rating in item]
    assert found["mean"] == pytest.approx(np.mean(every), abs=1e-9)
    assert found["median"] == np.median(every)
    assert found["chosen"] == {number: every.count(int(number)) for number in scale}
    assert (found["items"], found["ratings"]) == (len(items), len(every))
    numbers = [int(number) for number in scale]
    counts = np.array([[item.count(number) for number in numbers] for item in items])
    alpha = krippendorff.alpha(value_counts=counts, value_domain=numbers, level_of_measurement="ordinal")
    assert found["krippendorff_alpha_ordinal"] == pytest.approx(alpha, abs=1e-9)
    assert found["gwet_ac2"] == pytest.approx(pair_by_pair(items, scale), abs=1e-9)


def test_intervals_are_those_of_drawing_items() -> None:
    items = random_items(6, (4,))[:10]
    found = document(items)["intervals"]
    draw = np.random.default_rng(1)
    means = np.array([np.mean(item) for item in items])
    medians, levels = [], []
    for _ in range(4000):
        chosen = draw.integers(len(items), size=len(items))
        levels.append(means[chosen].mean())
        medians.append(np.median([rating for place in chosen for rating in items[place]]))
    assert found["mean"] == pytest.approx(np.quantile(levels, [0.025, 0.975]), abs=0.03)
    assert found["median"] == list(np.quantile(medians, [0.025, 0.975])) == [2, 4]
    low, high = found["krippendorff_alpha_ordinal"]
    assert low < document(items)["krippendorff_alpha_ordinal"] < high


def test_undefined_estimates_are_null_with_the_reason() -> None:
    nothing, one_each, same = document([]), document([(1,), (4,)]), document([(4, 4), (4, 4)])
    assert nothing["mean"] is None
    assert nothing["undefined"]["mean"] == NO_STORY
    assert one_each["mean"] == 2.5
    assert one_each["undefined"] == {"krippendorff_alpha_ordinal": NO_PAIR, "gwet_ac2": NO_PAIR}
    assert same["mean"] == 4
    assert same["undefined"] == {"krippendorff_alpha_ordinal": ONE_CATEGORY_CHOSEN}
    assert same["intervals"]["mean"] is None
    assert "same value" in same["undefined_intervals"]["mean"]


def test_an_interval_says_how_many_resamples_had_no_value() -> None:
    items: Items = [(1, 4, 4) if number < 4 else (4, 4, 4) for number in range(100)]
    found = document(items)
    assert found["intervals"]["krippendorff_alpha_ordinal"] is not None
    assert set(found["undefined_resamples"]) == {"krippendorff_alpha_ordinal"}
    assert 5 <= found["undefined_resamples"]["krippendorff_alpha_ordinal"] <= 35  # (96/100)^100 = 0.017


def test_the_order_of_items_and_ratings_does_not_matter() -> None:
    items = random_items(4, (3,))
    assert document(items) == document([tuple(reversed(item)) for item in reversed(items)])


def test_the_interval_of_one_item_is_students() -> None:
    from scipy import stats  # loaded here: every worker imports this module

    ratings = (1, 4, 5, 5, 3)
    middle, bounds = mean_of_item(ratings)
    expected = stats.t.interval(0.95, 4, loc=np.mean(ratings), scale=stats.sem(ratings))
    assert middle == pytest.approx(3.6)
    assert bounds == pytest.approx(expected)
    assert mean_of_item((4, 4, 4)) == (4.0, None)
    assert mean_of_item((2,)) == (2.0, None)
