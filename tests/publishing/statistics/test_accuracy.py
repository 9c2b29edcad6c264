"""Accuracy by hand-worked numbers, and its intervals against statsmodels and scipy."""

from __future__ import annotations

import numpy as np
import pytest

from publishing.statistics.accuracy import AnsweredItem, accuracy
from publishing.statistics.answered import ALL
from publishing.statistics.intervals import STORIES_DRAWN, Bootstrap, ClusterBootstrap, wilson

RESAMPLES = STORIES_DRAWN.resamples


def bootstrap_interval(
    above: list[float], below: list[float], *, seed: tuple[int, ...]
) -> tuple[float, float] | None:
    """One item per cluster."""
    clusters = [str(place) for place in range(len(above))]
    return ClusterBootstrap(clusters, Bootstrap(RESAMPLES), seed=seed).interval(above, below)


def item(config: str, story: str, *, right: str = "a", options: int = 2, **given: int) -> AnsweredItem:
    return AnsweredItem(config, story, right, options, given)


ITEMS = [
    item("behavior-qa", "s1", a=3),
    item("behavior-qa", "s2", a=2, b=1),
    item("behavior-qa", "s3", right="b", a=3),
    item("behavior-qa", "s4", options=4, a=1, b=1, c=1),
    item("behavior-qa", "s5", a=2),  # lacks a vote
    item("mental-state-qa", "s1", right="b", b=3),
    item("mental-state-qa", "s2"),
]


def test_the_numbers_of_a_small_study() -> None:
    from statsmodels.stats.proportion import (
        proportion_confint,
    )  # loaded here: every worker imports this module

    found = accuracy(ITEMS, votes_per_item=3)
    behavior, mental = found["configs"]["behavior-qa"], found["configs"]["mental-state-qa"]
    assert list(found["configs"]) == ["behavior-qa", "mental-state-qa"]
    assert (behavior["items"], behavior["complete"], behavior["votes"], behavior["right"]) == (5, 4, 12, 6)
    assert behavior["accuracy"] == pytest.approx(6 / 12)
    assert behavior["chance"] == pytest.approx((0.5 + 0.5 + 0.5 + 0.25) / 4)
    assert behavior["agreement"]["percent"] == pytest.approx((1 + 1 / 3 + 1 + 0) / 4)
    majority = behavior["majority"]
    assert (majority["right"], majority["ties"], majority["accuracy"]) == (2, 1, 0.5)
    assert majority["interval"] == pytest.approx(proportion_confint(2, 4, method="wilson"))
    assert (mental["items"], mental["complete"], mental["accuracy"], mental["interval"]) == (2, 1, 1.0, None)
    overall = found[ALL]
    assert (overall["complete"], overall["votes"], overall["right"]) == (5, 15, 9)
    assert overall["majority"] == {"right": 3, "ties": 1, "accuracy": 0.6, "interval": None}


def test_nothing_is_claimed_where_nothing_is_known() -> None:
    line = accuracy([item("trivia", "s1")], votes_per_item=3)["configs"]["trivia"]
    assert line["items"] == 1
    for name in ("accuracy", "interval", "chance"):
        assert line[name] is None
    assert line["agreement"] == {"percent": None, "interval": None}
    assert line["majority"] == {"right": 0, "ties": 0, "accuracy": None, "interval": None}
    assert accuracy([], votes_per_item=3)[ALL]["accuracy"] is None


def test_one_answer_to_a_question_agrees_with_nobody() -> None:
    line = accuracy([item("trivia", "s1", a=1), item("trivia", "s2", b=1)], votes_per_item=1)["configs"][
        "trivia"
    ]
    assert line["accuracy"] == 0.5
    assert line["agreement"] == {"percent": None, "interval": None}


@pytest.mark.parametrize("n", [1, 2, 7, 50, 150])
def test_wilsons_interval_is_that_of_statsmodels(n: int) -> None:
    from statsmodels.stats.proportion import (
        proportion_confint,
    )  # loaded here: every worker imports this module

    for right in range(n + 1):
        assert wilson(right, n) == pytest.approx(proportion_confint(right, n, method="wilson"), abs=1e-12)
    assert wilson(0, 0) is None


def test_the_bootstrap_interval_is_close_to_that_of_scipy() -> None:
    from scipy import stats  # loaded here: every worker imports this module

    generator = np.random.default_rng(5)
    below = np.full(50, 3.0)
    above = generator.binomial(3, 0.8, size=50).astype(float)
    ours = bootstrap_interval(list(above), list(below), seed=(1, 2))
    theirs = stats.bootstrap(
        (above, below), lambda a, b: a.sum() / b.sum(), paired=True, vectorized=False, n_resamples=RESAMPLES,
        method="percentile", rng=np.random.default_rng(7),
    ).confidence_interval  # fmt: skip
    assert ours == pytest.approx((theirs.low, theirs.high), abs=0.015)


def test_questions_about_one_story_are_drawn_together() -> None:
    """Ten stories, each all right or all wrong: the interval is that of ten observations, not of thirty."""
    items = [
        AnsweredItem("trivia", f"s{n % 10}", "a", 2, {"a": 1} if n % 10 < 5 else {"b": 1}) for n in range(30)
    ]
    low, high = accuracy(items, votes_per_item=1)["configs"]["trivia"]["interval"]
    of_ten = bootstrap_interval([float(n < 5) for n in range(10)], [1.0] * 10, seed=(3,))
    of_thirty = bootstrap_interval([float(n < 15) for n in range(30)], [1.0] * 30, seed=(3,))
    assert of_ten
    assert of_thirty
    assert high - low == pytest.approx(of_ten[1] - of_ten[0], abs=0.11)
    assert high - low > of_thirty[1] - of_thirty[0]


@pytest.mark.parametrize("chosen", ["a", "b"])
def test_answers_that_are_all_right_or_all_wrong_have_no_interval(chosen: str) -> None:
    """Every draw gives the same share: the bootstrap does not know how sure it is."""
    items = [AnsweredItem("trivia", f"s{n}", "a", 2, {chosen: 3}) for n in range(50)]
    line = accuracy(items, votes_per_item=3)["configs"]["trivia"]
    assert line["accuracy"] == (chosen == "a")
    assert line["interval"] is None
    assert line["agreement"] == {"percent": 1.0, "interval": None}
    assert line["majority"]["interval"] is not None


def test_the_draws_are_those_of_a_generator_that_never_changes() -> None:
    """By hand: numpy's legacy generator, and the 25th and 975th of 1,000 values in order."""
    values = [float(n % 3 == 0) for n in range(40)]
    drawn = np.random.RandomState([1, 2]).randint(0, 40, size=(RESAMPLES, 40))
    shares = np.sort(np.asarray(values)[drawn].mean(axis=1))
    assert bootstrap_interval(values, [1.0] * 40, seed=(1, 2)) == pytest.approx((shares[24], shares[974]))


def test_the_same_answers_give_the_same_interval_whatever_their_order() -> None:
    assert accuracy(ITEMS, votes_per_item=3) == accuracy(ITEMS[::-1], votes_per_item=3)


def test_each_seed_draws_resamples_of_its_own_and_the_same_every_time() -> None:
    """One drawing is kept for the question sets of a release."""
    clusters, right = [str(number) for number in range(30)], [number**0.5 for number in range(30)]

    def bounds(items: int, *seed: int) -> tuple[float, float] | None:
        bootstrap = ClusterBootstrap(clusters[:items], Bootstrap(RESAMPLES), seed=seed)
        return bootstrap.interval(right[:items], [2] * items)

    first, other, fewer = bounds(30, 1, 2), bounds(30, 2, 1), bounds(20, 1, 2)
    assert len({first, other, fewer}) == 3
    assert (bounds(30, 1, 2), bounds(30, 2, 1), bounds(20, 1, 2)) == (first, other, fewer)
