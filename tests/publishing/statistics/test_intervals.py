"""The intervals: the same bootstrap as drawing stories, honest coverage, and a reason where there is none."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pytest

from publishing.statistics import intervals as bootstrap
from publishing.statistics.agreement import ESTIMATES, Votes
from publishing.statistics.intervals import (
    UNDEFINED_TOO_OFTEN,
    Bootstrap,
    ClusterBootstrap,
    Floats,
    Integers,
    Interval,
    interval,
)

PATTERNS = np.array([[3, 0, 0], [2, 1, 0], [2, 0, 1], [1, 1, 1], [0, 3, 0]])
STORIES = np.array([120, 40, 20, 10, 10])
EACH_ITSELF = np.eye(len(PATTERNS), dtype=np.int64)
NAMES = tuple(ESTIMATES)


def intervals(
    names: Collection[str], units: Integers, members: Integers, stories: Integers, design: Bootstrap
) -> dict[str, Interval]:
    """The intervals of coefficients; ``members`` says how many of each unit a story with a pattern has."""

    def estimates(times: Integers) -> dict[str, Floats]:
        sums = Votes(units, times @ members)
        return {name: ESTIMATES[name](sums) for name in names}

    return bootstrap.intervals(estimates, stories, design)


def test_multinomial_draws_are_those_of_drawing_stories_with_replacement() -> None:
    """Kolmogorov-Smirnov on 2,000 resamples each way, every coefficient."""
    from scipy.stats import ks_2samp  # loaded here: every worker imports this module

    times = next(bootstrap.resamples(STORIES, Bootstrap(2000, seed=7)))
    drawn = Votes(PATTERNS, times @ EACH_ITSELF)
    pattern_of_story = np.repeat(np.arange(len(STORIES)), STORIES)
    random = np.random.default_rng(8)
    naive = np.array(
        [
            np.bincount(random.choice(pattern_of_story, len(pattern_of_story)), minlength=len(STORIES))
            for _ in range(2000)
        ]
    )
    for estimate in ESTIMATES.values():
        ours, theirs = estimate(drawn), estimate(Votes(PATTERNS, naive))
        assert ks_2samp(ours, theirs).pvalue > 0.01
        assert ours.std() == pytest.approx(theirs.std(), rel=0.08)


def test_draws_as_many_stories_as_there_are_whatever_fits_into_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = intervals(NAMES, PATTERNS, EACH_ITSELF, STORIES, Bootstrap())
    sums = Votes(PATTERNS, next(bootstrap.resamples(STORIES, Bootstrap(50))) @ EACH_ITSELF)
    assert {int(units) for units in sums.by_size[0][1].units} == {200}
    monkeypatch.setattr(bootstrap, "_ENTRIES", 17)
    assert intervals(NAMES, PATTERNS, EACH_ITSELF, STORIES, Bootstrap()) == whole


@pytest.mark.torture
def test_intervals_cover_what_they_should() -> None:
    """300 studies of 300 stories from one population: intervals hold the truth 92 to 98 % of the time."""
    truth = {name: float(estimate(Votes(PATTERNS, STORIES))) for name, estimate in ESTIMATES.items()}
    random = np.random.default_rng(9)
    held = dict.fromkeys(NAMES, 0)
    for _ in range(300):
        stories = random.multinomial(300, STORIES / STORIES.sum())
        seen = stories > 0
        found = intervals(
            NAMES, PATTERNS[seen], np.eye(seen.sum(), dtype=np.int64), stories[seen], Bootstrap(500)
        )
        for name, made in found.items():
            assert made.bounds is not None
            held[name] += made.bounds[0] <= truth[name] <= made.bounds[1]
    assert all(0.92 <= number / 300 <= 0.98 for number in held.values()), held


def test_rows_of_one_story_are_drawn_together() -> None:
    """Ten equal rows per story say no more than one: the interval is as wide as with one row."""
    units: Integers = np.array([[3, 0], [2, 1]])
    stories = np.array([30, 30])
    one = intervals(("percent",), units, np.eye(2, dtype=np.int64), stories, Bootstrap())
    ten = intervals(("percent",), units, 10 * np.eye(2, dtype=np.int64), stories, Bootstrap())
    apart = intervals(("percent",), units, np.eye(2, dtype=np.int64), 10 * stories, Bootstrap())
    assert ten["percent"].bounds == pytest.approx(one["percent"].bounds, abs=1e-12)
    assert _width(apart["percent"]) < _width(one["percent"]) / 2


def _width(made: Interval) -> float:
    assert made.bounds is not None
    return made.bounds[1] - made.bounds[0]


def test_bounds_are_the_25th_and_the_975th_of_a_thousand() -> None:
    values = np.random.default_rng(1).permutation(np.arange(1.0, 1001.0))
    assert interval(values, Bootstrap()) == Interval((25.0, 975.0))
    assert interval(values, Bootstrap(level=0.9)) == Interval((50.0, 950.0))


def test_undefined_resamples_are_left_out_and_counted_up_to_what_the_interval_leaves_out() -> None:
    values = np.arange(1.0, 1001.0)
    few, many = values.copy(), values.copy()
    few[:50], many[:51] = np.nan, np.nan
    assert interval(few, Bootstrap()) == Interval((74.0, 977.0), "", 50)
    refused = interval(many, Bootstrap())
    assert refused.bounds is None
    assert refused.undefined == UNDEFINED_TOO_OFTEN
    assert refused.undefined_resamples == 51
    many[:100] = np.nan
    assert interval(many, Bootstrap(level=0.9)).bounds is not None


def test_no_variation_is_no_certainty() -> None:
    made = intervals(("percent", "gwet_ac1"), PATTERNS[:1], EACH_ITSELF[:1, :1], STORIES[:1], Bootstrap())
    assert set(made.values()) == {Interval(None, bootstrap.NO_VARIATION)}


def test_another_seed_is_another_draw_and_the_same_seed_the_same() -> None:
    first, again, other = (
        intervals(NAMES, PATTERNS, EACH_ITSELF, STORIES, Bootstrap(seed=seed)) for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other


def test_the_stream_is_the_one_numpy_promises_to_keep() -> None:
    """Whoever recomputes a release's intervals with a later numpy must find these numbers."""
    made = intervals(NAMES, PATTERNS, EACH_ITSELF, STORIES, Bootstrap())
    assert {name: made[name].bounds for name in NAMES} == PINNED


PINNED = {
    "percent": (0.6983333333333333, 0.7966666666666667),
    "fleiss_kappa": (0.07364348295169165, 0.3232371821454044),
    "krippendorff_alpha": (0.07518741048010569, 0.32436512017516217),
    "gwet_ac1": (0.6369442810320194, 0.7646809208305607),
}


@pytest.mark.parametrize("clusters", [2, 7, 150])
def test_clusters_are_drawn_one_resample_after_the_other(clusters: int) -> None:
    """However many are drawn at a time: releases are checked years later with the same resamples."""
    design = Bootstrap(seed=3)
    above = np.arange(clusters) % 5
    random = np.random.RandomState(design.seed)
    drawn = [random.randint(clusters, size=clusters) for _ in range(design.resamples)]
    expected = interval(np.array([above[chosen].mean() for chosen in drawn]), design).bounds
    names = [str(number) for number in range(clusters)]
    found = ClusterBootstrap(names, design).interval(above, np.ones(clusters))
    assert found == pytest.approx(expected, abs=1e-12)
