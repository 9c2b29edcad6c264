"""Whether a test became easier: Fisher's test against scipy's, and the thresholds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import fisher_exact

from qualification.drift import Halves, Pace, corrected, fisher_greater, quickens, rises

COUNTS = st.integers(0, 60)


@given(early=COUNTS, late=COUNTS, data=st.data())
def test_the_p_value_is_that_of_scipy(early: int, late: int, data: st.DataObject) -> None:
    early_hits = data.draw(st.integers(0, early))
    late_hits = data.draw(st.integers(0, late))
    table = [[late_hits, late - late_hits], [early_hits, early - early_hits]]
    expected = fisher_exact(table, alternative="greater").pvalue if early and late else 1.0
    assert Halves(early, early_hits, late, late_hits).p == pytest.approx(expected, abs=1e-9)


def test_of_ten_cups_by_hand() -> None:
    """Fisher's tea: four of eight drawn, all four right: one in seventy."""
    assert fisher_greater(4, 4, 4, 8) == pytest.approx(1 / 70)
    assert corrected(1 / 70, 20) == pytest.approx(20 / 70)
    assert corrected(0.2, 20) == 1.0


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
    assert quickens(Pace(300, 120, Halves(20, 2, 20, 18)))
    assert not quickens(Pace(300, 280, Halves(20, 2, 20, 18)))
    assert not quickens(Pace(300, 120, Halves(20, 9, 20, 11)))
