"""Whether a test became easier: Fisher's test against scipy's, and the thresholds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from qualification.drift import Halves, Pace, corrected, look_at, quickens, rises

COUNTS = st.integers(0, 60)


@given(early=COUNTS, late=COUNTS, data=st.data())
def test_the_p_value_is_that_of_scipy(early: int, late: int, data: st.DataObject) -> None:
    from scipy.stats import fisher_exact  # loaded here: every worker imports this module

    early_hits = data.draw(st.integers(0, early))
    late_hits = data.draw(st.integers(0, late))
    table = [[late_hits, late - late_hits], [early_hits, early - early_hits]]
    expected = fisher_exact(table, alternative="greater").pvalue if early and late else 1.0
    assert Halves(early, early_hits, late, late_hits).p == pytest.approx(expected, abs=1e-9)


def test_of_ten_cups_by_hand() -> None:
    """Fisher's tea: four of eight drawn, all four right: one in seventy."""
    assert Halves(4, 0, 4, 4).p == pytest.approx(1 / 70)


@pytest.mark.parametrize(
    ("attempts", "look"), [(0, 0), (19, 0), (20, 20), (39, 20), (40, 40), (79, 40), (80, 80), (700, 640)]
)
def test_looks_are_at_fixed_numbers_of_attempts(attempts: int, look: int) -> None:
    assert look_at(attempts) == look


def test_every_look_may_err_half_as_often_as_the_one_before() -> None:
    """So that all of them together stay within what one may."""
    for look, half in enumerate((10, 20, 40, 80), start=1):
        halves = Halves(half, 3, half, 6)
        assert corrected(halves, 5) == pytest.approx(min(1.0, halves.p * 5 * 2**look))
    assert corrected(Halves(10, 10, 10, 0), 20) == 1.0


@pytest.mark.torture
def test_a_healthy_test_is_hardly_ever_said_to_be_known() -> None:
    """Looked at after every attempt, as a page is, in 400 rounds of 8 questions, none of which changes."""
    rng = np.random.default_rng(20261120)
    said = 0
    looks = {look_at(attempts) for attempts in range(20, 641)}
    for _round in range(400):
        answers = rng.random((640, 8)) < 0.6
        seconds = rng.exponential(300, 640)
        said += any(_is_known(answers[:look], seconds[:look]) for look in looks)
    assert said <= 9, "of 400 at 1 %, more than 9 come by chance once in 100 times"


def _is_known(answers: np.ndarray, seconds: np.ndarray) -> bool:
    half = len(answers) // 2
    columns = [*answers.T, answers.all(axis=1)]
    if any(rises(_halves(column, half), looked_at=10) for column in columns):
        return True
    fast = _halves(seconds < np.median(seconds), half)
    medians = float(np.median(seconds[:half])), float(np.median(seconds[half:]))
    return quickens(Pace(*medians, fast), looked_at=10)


def _halves(hits: np.ndarray, half: int) -> Halves:
    return Halves(half, int(hits[:half].sum()), len(hits) - half, int(hits[half:].sum()))


@pytest.mark.parametrize(
    ("halves", "looked_at", "said"),
    [
        (Halves(30, 6, 30, 24), 20, True),
        (Halves(30, 6, 30, 24), 10_000, False),  # so many comparisons that chance gives as much
        (Halves(30, 24, 30, 6), 1, False),  # it became harder
        (Halves(9, 0, 9, 9), 1, False),  # too few to say anything
        (Halves(2000, 1000, 2000, 1300), 20, False),  # beyond chance, but little
    ],
)
def test_a_question_that_many_more_pass_later_may_be_known(
    halves: Halves, looked_at: int, said: bool
) -> None:
    assert rises(halves, looked_at=looked_at) is said


def test_a_test_that_is_done_much_faster_later_may_be_known() -> None:
    assert quickens(Pace(300, 120, Halves(20, 2, 20, 18)), looked_at=20)
    assert not quickens(Pace(300, 280, Halves(20, 2, 20, 18)), looked_at=20)
    assert not quickens(Pace(300, 120, Halves(20, 9, 20, 11)), looked_at=20)
    assert not quickens(Pace(300, 120, Halves(20, 4, 20, 16)), looked_at=200)
