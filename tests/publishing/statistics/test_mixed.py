"""Contrasts in a linear mixed model: against statsmodels, against what data were made with, and by hand."""

from __future__ import annotations

import warnings
from itertools import product
from typing import Any

import numpy as np
import pytest

from annotation.protocols.base import Scored
from publishing.files.rows import ReleasedStory
from publishing.statistics.answered import Answered
from publishing.statistics.mixed import MOST_ANSWERED, contrasts, fit
from publishing.statistics.scored import ScoredTally

Rating = tuple[str, str, str, float]
ROW = Scored("", "", 5, "coherent", "coherent")


def simulated(seed: int, *, items: int, people: int, share: float = 1.0) -> list[Rating]:
    """Ratings of three groups with means 4, 3.2 and 2.1, of which a share was given."""
    draw = np.random.default_rng(seed)
    of_people = draw.normal(0, 0.5, people)
    found = []
    for (group, mean), item in product((("a", 4.0), ("b", 3.2), ("c", 2.1)), range(items)):
        of_item = draw.normal(0, 0.3)
        for person in range(people):
            if draw.random() < share:
                rating = mean + of_item + of_people[person] + draw.normal(0, 0.8)
                found.append((group, f"{group}{item}", f"p{person:02}", float(rating)))
    return found


@pytest.mark.parametrize(("items", "people", "share"), [(6, 10, 1.0), (8, 12, 0.6)])
def test_means_errors_and_deviations_are_those_of_statsmodels(items: int, people: int, share: float) -> None:
    statsmodels = pytest.importorskip("statsmodels.api")
    ratings = simulated(items, items=items, people=people, share=share)
    found = fit(ratings, ("a", "b", "c"))
    assert found
    group, item, person, values = (np.array(column) for column in zip(*ratings, strict=True))

    def indicators(names: Any) -> Any:
        return (names[:, None] == np.unique(names)).astype(float)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its own optimiser
        other = statsmodels.MixedLM(
            values,
            indicators(group),
            groups=np.ones(len(values)),
            exog_vc={"items": {1: indicators(item)}, "people": {1: indicators(person)}},
        ).fit(reml=True, method=["powell", "lbfgs"], xtol=1e-8, ftol=1e-10)
    assert found.means == pytest.approx(other.fe_params, abs=1e-3)
    assert np.sqrt(np.diag(found.covariance)) == pytest.approx(np.asarray(other.bse_fe), abs=2e-3)
    assert found.spread["residual"] == pytest.approx(np.sqrt(other.scale), abs=1e-3)
    names = other.model.exog_vc.names
    assert [found.spread[name] for name in names] == pytest.approx(np.sqrt(other.vcomp), abs=5e-3)


@pytest.mark.parametrize(
    ("items", "people", "share", "least"),
    [
        pytest.param(30, 60, 0.3, 0.12),
        pytest.param(100, 200, 0.1, 0.08, id="the size of BigToM", marks=pytest.mark.torture),
    ],
)
def test_the_interval_of_a_large_study_holds_what_it_was_made_with(
    items: int, people: int, share: float, least: float
) -> None:
    found = fit(simulated(3, items=items, people=people, share=share), ("a", "b", "c"))
    assert found
    for one, other, truth in ((0, 1, 0.8), (0, 2, 1.9), (1, 2, 1.1)):
        difference, error = found.difference(one, other)
        assert abs(difference - truth) < 3 * error
        assert error < least
    assert found.spread == pytest.approx({"items": 0.3, "people": 0.5, "residual": 0.8}, abs=0.1)


def test_without_differences_between_items_and_people_it_is_the_difference_of_means() -> None:
    """By hand, for ratings that four people give every item: 4.5 − 2.5."""
    answered = [
        Answered(item, ROW, {f"p{n}": rating for n, rating in enumerate(ratings)}, item, group)
        for item, group, ratings in (
            ("i1", "x", "5454"),
            ("i2", "x", "4545"),
            ("j1", "y", "3232"),
            ("j2", "y", "2323"),
        )
    ]
    found = contrasts(answered)
    (entry,) = found["kinds"].values()
    assert [*found["kinds"]] == ["x − y"]
    assert (entry["items"], entry["difference"]) == (4, 2.0)
    assert found["standard_deviations"] == {
        "items": 0.0,
        "people": 0.0,
        "residual": pytest.approx(np.sqrt(16 * 0.25 / 14), abs=1e-3),
    }
    half = 4.3027 * np.sqrt(16 * 0.25 / 14 * (1 / 8 + 1 / 8))  # Student's t with 4 - 2 degrees of freedom
    assert entry["interval"] == pytest.approx([2 - half, 2 + half], abs=1e-3)


def given(ratings: dict[str, str], *, groups: str = "xy") -> list[Answered]:
    """Ratings of items by people p0, p1 …; the groups take turns."""
    return [
        Answered(item, ROW, {f"p{n}": one for n, one in enumerate(row)}, item, groups[place % len(groups)])
        for place, (item, row) in enumerate(ratings.items())
    ]


@pytest.mark.parametrize(
    "answered",
    [
        [],
        given({"i": "13131", "j": "24242"}),
        given({str(n): "1" for n in range(6)}),
        given({str(n): "13"[n % 2] * 2 for n in range(6)}),
        given({str(n): "1111111" for n in range(6)}),
        given({str(n): str(n % 5 + 1) * 7 for n in range(6)}),
        given({str(n): "1342513" for n in range(26)}, groups="abcdefghijklm"),
        given({str(n): "1342513" for n in range(15_001)}),
    ],
    ids=[
        "nothing",
        "one item per group",
        "one person",
        "too few ratings",
        "all the same",
        "no residual",
        "too many groups",
        "too many items",
    ],
)
def test_there_are_none_where_nothing_can_be_told(answered: list[Answered]) -> None:
    assert contrasts(answered) == {}


def test_people_who_outnumber_the_items_are_eliminated_instead() -> None:
    """It is the same fit, with the roles of items and people exchanged."""
    ratings = simulated(5, items=4, people=40)
    found = fit(ratings, ("a", "b", "c"))
    few = fit([rating for rating in ratings if rating[2] < "p11"], ("a", "b", "c"))
    assert found
    assert few
    assert found.spread == pytest.approx({"items": 0.3, "people": 0.5, "residual": 0.8}, abs=0.2)
    assert found.means == pytest.approx(few.means, abs=0.5)


def test_a_tally_of_ratings_holds_no_more_than_are_looked_at() -> None:
    tally = ScoredTally("ratings", 1)
    content = dict.fromkeys(("story", "question", "answer_a", "answer_b"), "x")
    for number in range(MOST_ANSWERED // 3 + 10):
        story = ReleasedStory(str(number), str(number), "x", None, None, "", content)
        tally.add(story, [])
    assert tally.document() == {}
    assert len(tally._answered) <= MOST_ANSWERED + 3
