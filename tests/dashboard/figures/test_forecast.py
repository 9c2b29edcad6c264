"""When a study will be finished, and what a vote costs in time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

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
    found = forecast.finish(daily(50, 150, 80, 120, 60, 140, 1), remaining=1000, now=NOW)
    assert found["per_day"] == pytest.approx(100)
    assert found["finish"] - NOW == pytest.approx(timedelta(days=10), abs=timedelta(seconds=1))
    assert found["earliest"] < found["finish"] < found["latest"]
    assert timedelta(days=7) < found["earliest"] - NOW
    assert found["latest"] - NOW < timedelta(days=14)


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
    found = forecast.seconds_per_vote([(100, 20.0), (300, 40.0), (100, 60.0), (50, 30.0)])
    assert found is not None
    mean, low, high = (found[name] or 0 for name in ("mean", "low", "high"))
    assert mean == pytest.approx((2000 + 12000 + 6000 + 1500) / 550)
    assert 20 < low < mean < high < 60


def test_everybody_at_one_pace_leaves_no_doubt() -> None:
    found = forecast.seconds_per_vote([(10, 30.0), (500, 30.0), (3, 30.0)])
    assert found == pytest.approx({"mean": 30.0, "low": 30.0, "high": 30.0})


def test_many_people_are_drawn_in_bounded_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    paces = [(number % 7 + 1, 20.0 + number % 11) for number in range(50)]
    whole = forecast.seconds_per_vote(paces)
    monkeypatch.setattr(forecast, "_AT_A_TIME", 500)
    assert forecast.seconds_per_vote(paces) == pytest.approx(whole)
