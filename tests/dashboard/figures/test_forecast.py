"""When a study will be finished, and what a vote costs in time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from dashboard.figures import forecast

NOW = datetime(2026, 5, 20, 12, tzinfo=UTC)
HOUR = forecast.hour_of(NOW)


def daily(*votes: int) -> dict[int, int]:
    """Votes per hour: so many a day, the last day first."""
    return {HOUR - 24 * back - 5: number for back, number in enumerate(votes)}


def test_the_same_number_every_day_leaves_no_doubt() -> None:
    found = forecast.finish(daily(*[100] * 6), remaining=250, now=NOW)
    in_two_and_a_half_days = NOW + timedelta(days=2.5)
    for name in ("finish", "earliest", "latest"):
        assert abs(found[name] - in_two_and_a_half_days) < timedelta(seconds=1)
    assert (found["per_day"], found["windows"], found["window_hours"]) == (pytest.approx(100), 5, 24)


def test_days_that_differ_give_a_range_around_their_mean() -> None:
    """By hand: n = 7, m = 100, s² = 9,000 / 6; t of 6 degrees of freedom at 0.95 is 1.9432."""
    found = forecast.finish(daily(50, 150, 80, 120, 60, 140, 100, 1), remaining=1000, now=NOW)
    assert (found["per_day"], found["windows"]) == (pytest.approx(100), 7)
    assert found["finish"] - NOW == pytest.approx(timedelta(days=10), abs=timedelta(seconds=1))
    spread2 = 1.9431803**2 * 9000 / 6
    for name, off in (("earliest", 1), ("latest", -1)):
        days = (found[name] - NOW) / timedelta(days=1)
        assert 100 * days + off * (spread2 * (days + days**2 / 7)) ** 0.5 == pytest.approx(1000, rel=1e-5)


@pytest.mark.parametrize(
    ("seen", "left", "weekends"),
    [
        (7, 10, False),
        pytest.param(3, 3, False, marks=pytest.mark.torture),
        pytest.param(14, 3, True, marks=pytest.mark.torture),
    ],
)
def test_the_range_holds_the_finish_nine_times_in_ten(seen: int, left: int, weekends: bool) -> None:
    """Days with a coefficient of variation of one half; at weekends a fifth comes. 600 courses each."""
    random, held = np.random.RandomState(7), 0
    for course in range(600):
        days = random.gamma(4, 25, seen + 8 * left)
        if weekends:
            days *= np.where((np.arange(len(days)) + course) % 7 >= 5, 0.2, 1)
        votes = np.rint(days).astype(int).tolist()
        remaining = left * 100
        found = forecast.finish(daily(*reversed(votes[:seen]), 1), remaining=remaining, now=NOW)
        to_come = np.cumsum([0, *votes[seen:]])
        took = np.interp(remaining, to_come, np.arange(len(to_come)))
        ended = NOW + timedelta(days=float(took))
        held += found["earliest"] <= ended and (found["latest"] is None or ended <= found["latest"])
    assert 0.86 < held / 600 < 0.97


def test_only_the_last_fourteen_days_count() -> None:
    old = {HOUR - 24 * 60: 100_000}
    with_old = forecast.finish({**daily(*[100] * 14), **old}, remaining=100, now=NOW)
    assert with_old["windows"] == forecast.MOST_DAYS
    assert with_old["per_day"] == pytest.approx(100)


def test_a_young_study_is_judged_by_its_hours() -> None:
    hourly = {HOUR - 1 - back: 30 for back in range(10)}
    found = forecast.finish(hourly, remaining=60, now=NOW)
    assert (found["window_hours"], found["windows"]) == (1, 10)
    assert found["finish"] == NOW + timedelta(hours=2)


def test_it_says_why_it_says_nothing() -> None:
    assert forecast.finish(daily(5, 5, 5, 5), remaining=0, now=NOW) == {"none": forecast.DONE}
    assert forecast.finish({}, remaining=9, now=NOW) == {"none": forecast.NO_VOTES}
    assert forecast.finish({HOUR - 1: 50}, remaining=9, now=NOW) == {"none": forecast.TOO_EARLY}
    assert forecast.finish({HOUR - 24 * 40: 50}, remaining=9, now=NOW) == {"none": forecast.NO_VOTES}


def test_a_study_that_nearly_stands_still_may_never_finish() -> None:
    found = forecast.finish(daily(3, 0, 0, 0, 0, 0, 0, 1), remaining=100, now=NOW)
    assert found["latest"] is None
    assert found["finish"] is not None


def test_a_vote_costs_what_its_author_needs() -> None:
    assert forecast.seconds_per_vote([]) is None
    assert forecast.seconds_per_vote([(7, 40.0)]) == {"mean": 40.0, "low": None, "high": None}
    few = [(100, 20.0), (300, 40.0), (100, 60.0), (50, 30.0)]
    assert forecast.seconds_per_vote(few) == {
        "mean": pytest.approx((2000 + 12000 + 6000 + 1500) / 550),
        "low": None,
        "high": None,
    }
    found = forecast.seconds_per_vote([(10, 20.0), (10, 40.0)] * 5)
    # The mean of ten people is off by 10 / 3 (10.54 / sqrt(10)), times t of 9 degrees of freedom at 0.95.
    assert found == pytest.approx({"mean": 30, "low": 30 - 1.833113 * 10 / 3, "high": 30 + 1.833113 * 10 / 3})


def test_everybody_at_one_pace_leaves_no_doubt() -> None:
    found = forecast.seconds_per_vote([(10, 30.0), (500, 30.0), (3, 30.0)] * 4)
    assert found == pytest.approx({"mean": 30.0, "low": 30.0, "high": 30.0})


@pytest.mark.torture
def test_the_range_of_the_cost_holds_it_about_nine_times_in_ten() -> None:
    random, held = np.random.RandomState(7), 0
    for _ in range(600):
        paces = random.gamma(8, 5, 15)
        found = forecast.seconds_per_vote([(int(random.randint(5, 500)), float(pace)) for pace in paces])
        assert found is not None
        low, high = found["low"], found["high"]
        assert low is not None
        assert high is not None
        held += low <= 40 <= high
    assert 0.84 < held / 600 < 0.95
