"""The coefficients: against hand, print, two other implementations, and every case without a value."""

from __future__ import annotations

import itertools
from fractions import Fraction

import krippendorff
import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st
from hypothesis.extra import numpy as arrays

from publishing.statistics import agreement
from publishing.statistics.intervals import Integers
from tests.publishing.statistics.support import (
    Coefficient,
    fleiss_kappa,
    gwet_ac1,
    krippendorff_alpha,
    percent_agreement,
)

ALL = (percent_agreement, fleiss_kappa, krippendorff_alpha, gwet_ac1)
CLOSE = 1e-9

RATERS = """
    1 2 3 3 2 1 4 1 2 . . .
    1 2 3 3 2 2 4 1 2 5 . 3
    . 3 3 3 2 3 4 2 2 5 1 .
    1 2 3 3 2 4 4 1 2 5 1 .
"""
"""Four observers, twelve units, some not rated: the example of Krippendorff (2011)."""


@st.composite
def tables(draw: st.DrawFn, *, equal_votes: bool) -> Integers:
    """Counts for 1 to 60 units on a scale of 2 to 5 categories."""
    votes, categories, units = draw(st.integers(2, 6)), draw(st.integers(2, 5)), draw(st.integers(1, 60))
    least = votes if equal_votes else 0
    rows = [
        draw(st.lists(st.integers(0, categories - 1), min_size=least, max_size=votes)) for _ in range(units)
    ]
    return np.array([np.bincount(row, minlength=categories) for row in rows], np.int64)


def released_shape(seed: int, stories: int, no: float) -> Integers:
    """Three votes on three options, as on a real question: mostly yes, seldom no."""
    draw = np.random.default_rng(seed)
    return draw.multinomial(3, [0.9 - no, 0.1, no], size=stories).astype(np.int64)


def value(found: Coefficient) -> float:
    assert found.value is not None, found.undefined
    return found.value


def varied(counts: Integers) -> bool:
    """Whether some unit has two votes, and votes on such units are in more than one category."""
    paired = counts[counts.sum(axis=1) > 1]
    return bool((paired.sum(axis=0) > 0).sum() > 1)


def test_by_hand() -> None:
    counts = [[3, 0], [2, 1]]
    assert value(percent_agreement(counts)) == pytest.approx(2 / 3, abs=1e-15)
    assert value(fleiss_kappa(counts)) == pytest.approx(-1 / 5, abs=1e-15)
    assert value(krippendorff_alpha(counts)) == pytest.approx(0, abs=1e-15)
    assert value(gwet_ac1(counts)) == pytest.approx(7 / 13, abs=1e-15)
    assert value(gwet_ac1([[3, 0, 0], [2, 1, 0]])) == pytest.approx(19 / 31, abs=1e-15)


def test_published_where_kappa_is_low_although_people_agree() -> None:
    """Gwet (2008): 125 subjects, two raters: 118 both positive, 5 and 2 split, none both negative."""
    counts, subjects = [[2, 0], [1, 1]], [118, 7]
    assert value(percent_agreement(counts, subjects)) == pytest.approx(0.944, abs=1e-12)
    assert value(gwet_ac1(counts, subjects)) == pytest.approx(0.940776, abs=5e-7)
    assert value(fleiss_kappa(counts, subjects)) < 0


def test_published_for_two_raters_and_three_categories() -> None:
    """The contingency table of Gwet's own package irrCAC, ``cont3x3abstractors``, as its manual prints it."""
    table = np.array([[13, 0, 0], [0, 20, 7], [0, 4, 56]])
    cells = list(itertools.product(range(3), range(3)))
    counts = [np.bincount(cell, minlength=3) for cell in cells]
    subjects = [table[cell] for cell in cells]
    assert value(percent_agreement(counts, subjects)) == pytest.approx(0.89, abs=1e-12)
    assert value(fleiss_kappa(counts, subjects)) == pytest.approx(0.7962397, abs=5e-8)
    assert value(krippendorff_alpha(counts, subjects)) == pytest.approx(0.7972585, abs=5e-8)
    assert value(gwet_ac1(counts, subjects)) == pytest.approx(0.8493305, abs=5e-8)


def test_published_with_missing_votes() -> None:
    """Krippendorff (2011) gives 0.743; Gwet's irrCAC has the same data and prints the other two."""
    votes = [line.split() for line in RATERS.strip().splitlines()]
    counts = [[unit.count(category) for category in "12345"] for unit in zip(*votes, strict=True)]
    assert value(krippendorff_alpha(counts)) == pytest.approx(0.743, abs=5e-4)
    assert value(percent_agreement(counts)) == pytest.approx(0.8181818, abs=5e-8)
    assert value(gwet_ac1(counts)) == pytest.approx(0.77544, abs=5e-6)
    assert fleiss_kappa(counts) == Coefficient(None, agreement.UNEQUAL_VOTES)


def test_a_category_nobody_chose_is_part_of_the_scale() -> None:
    """Four stories on which nobody said no: taking only the categories seen gives AC1 0.351, not 0.560."""
    counts = np.array([[3, 0, 0], [0, 3, 0], [2, 1, 0], [2, 1, 0]])
    assert value(gwet_ac1(counts)) == pytest.approx(0.560, abs=5e-4)
    assert value(gwet_ac1(counts[:, :2])) == pytest.approx(0.351, abs=5e-4)
    for same in (percent_agreement, fleiss_kappa, krippendorff_alpha):
        assert same(counts) == same(counts[:, :2])


@settings(max_examples=30)
@given(counts=tables(equal_votes=True))
def test_kappa_is_that_of_statsmodels(counts: Integers) -> None:
    from statsmodels.stats.inter_rater import (
        fleiss_kappa as statsmodels_kappa,
    )  # loaded here: every worker imports this module

    assume(varied(counts))
    assert value(fleiss_kappa(counts)) == pytest.approx(statsmodels_kappa(counts), abs=CLOSE)


@settings(max_examples=30)
@given(counts=tables(equal_votes=False))
def test_alpha_is_that_of_krippendorff(counts: Integers) -> None:
    assume(varied(counts))
    theirs = krippendorff.alpha(value_counts=counts, level_of_measurement="nominal")
    assert value(krippendorff_alpha(counts)) == pytest.approx(theirs, abs=CLOSE)


@pytest.mark.parametrize(("seed", "stories", "no"), [(1, 1147, 0.05), (2, 3600, 0.2), (3, 20000, 0.0)])
def test_at_the_size_of_a_study_both_agree(seed: int, stories: int, no: float) -> None:
    from statsmodels.stats.inter_rater import (
        fleiss_kappa as statsmodels_kappa,
    )  # loaded here: every worker imports this module

    counts = released_shape(seed, stories, no)
    theirs = krippendorff.alpha(value_counts=counts, level_of_measurement="nominal")
    assert value(fleiss_kappa(counts)) == pytest.approx(statsmodels_kappa(counts), abs=CLOSE)
    assert value(krippendorff_alpha(counts)) == pytest.approx(theirs, abs=CLOSE)


@settings(max_examples=30)
@given(counts=tables(equal_votes=False))
def test_percent_and_ac1_are_their_definitions_in_exact_fractions(counts: Integers) -> None:
    units = [[int(number) for number in row] for row in counts]
    paired = [unit for unit in units if sum(unit) > 1]
    assume(paired)
    voted = [unit for unit in units if sum(unit)]
    agreeing = [
        Fraction(sum(a == b for a, b in itertools.permutations(_votes(unit), 2)), sum(unit) * (sum(unit) - 1))
        for unit in paired
    ]
    percent = sum(agreeing) / len(agreeing)
    shares = [sum(Fraction(unit[k], sum(unit)) for unit in voted) / len(voted) for k in range(len(units[0]))]
    chance = sum(share * (1 - share) for share in shares) / (len(shares) - 1)
    assert value(percent_agreement(counts)) == pytest.approx(float(percent), abs=CLOSE)
    assert value(gwet_ac1(counts)) == pytest.approx(float((percent - chance) / (1 - chance)), abs=CLOSE)


def _votes(unit: list[int]) -> list[int]:
    return [category for category, number in enumerate(unit) for _ in range(number)]


@settings(max_examples=30)
@given(counts=tables(equal_votes=False), data=st.data())
def test_frequencies_stand_for_equal_units_and_order_changes_nothing(
    counts: Integers, data: st.DataObject
) -> None:
    often = data.draw(arrays.arrays(np.int64, len(counts), elements=st.integers(0, 4)))
    order = data.draw(st.permutations(range(len(counts))))
    for measure in ALL:
        assert measure(counts, often) == measure(np.repeat(counts, often, axis=0))
        assert measure(counts) == measure(counts[order])


def test_many_sets_of_frequencies_at_once_are_each_by_itself() -> None:
    counts = released_shape(4, 30, 0.2)
    often = np.random.default_rng(5).integers(0, 4, size=(7, 30))
    together = agreement.Votes(counts, often)
    for estimate in agreement.ESTIMATES.values():
        alone = [float(estimate(agreement.Votes(counts, line))) for line in often]
        assert estimate(together).tolist() == alone


@pytest.mark.parametrize(
    ("counts", "reasons"),
    [
        pytest.param(np.zeros((0, 3)), [agreement.NO_PAIR] * 4, id="no units"),
        pytest.param([[0, 0], [0, 0]], [agreement.NO_PAIR] * 4, id="no votes"),
        pytest.param([[1, 0], [0, 1]], [agreement.NO_PAIR] * 4, id="one vote each"),
        pytest.param(
            [[3, 0], [3, 0]],
            ["", agreement.ONE_CATEGORY_CHOSEN, agreement.ONE_CATEGORY_CHOSEN, ""],
            id="everybody says the same",
        ),
        pytest.param(
            [[3], [3]],
            ["", *[agreement.ONE_CATEGORY_CHOSEN] * 2, agreement.ONE_CATEGORY_OFFERED],
            id="only one thing can be said",
        ),
        pytest.param([[2, 1], [1, 1]], ["", agreement.UNEQUAL_VOTES, "", ""], id="a vote is missing"),
        pytest.param(
            [[2, 0], [0, 1]],
            ["", agreement.UNEQUAL_VOTES, agreement.ONE_CATEGORY_CHOSEN, ""],
            id="the only other category is on a unit with one vote",
        ),
    ],
)  # fmt: skip
def test_what_is_undefined_says_why(counts: Integers, reasons: list[str]) -> None:
    found = [measure(counts) for measure in ALL]
    assert [coefficient.undefined for coefficient in found] == reasons
    assert [coefficient.value is None for coefficient in found] == [bool(reason) for reason in reasons]


def test_everybody_saying_the_same_is_full_agreement_where_that_is_defined() -> None:
    assert percent_agreement([[3, 0], [3, 0]]).value == 1
    assert gwet_ac1([[3, 0], [3, 0]]).value == 1
