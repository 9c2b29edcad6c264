"""Filters, side by side: by hand, and against the filters themselves."""

from __future__ import annotations

from typing import Any

from hypothesis import given, strategies as st

from annotation.protocols.questions import Choice
from publishing.filter_comparison import MODEL, FilterComparison
from publishing.filters import FILTERS, Outcome
from tests.publishing.support import verdict_of

QUESTIONS = ("q1", "q2", "q3", "q4")
objections = st.frozensets(st.sampled_from(QUESTIONS), max_size=2)


def compared(stories: list[list[tuple[int, frozenset[str]]]], votes_per_story: int = 3) -> dict[str, Any]:
    comparison = FilterComparison(votes_per_story)
    for votes in stories:
        comparison.add(votes)
    document = comparison.document()
    return {**document, "filters": {row["name"]: row for row in document["filters"]}}


def story(*against: str, people: tuple[int, ...] = (1, 2, 3)) -> list[tuple[int, frozenset[str]]]:
    return [(person, frozenset(noes.split())) for person, noes in zip(people, against, strict=True)]


def test_by_hand() -> None:
    found = compared(
        [story("", "", ""), story("q1", "", ""), story("q1", "q2", ""), story("q3 q4", "q3", "")]
    )
    assert (found["stories"], found["votes"], found["people"]) == (4, 12, 3)
    rows = found["filters"]
    assert {name: (row["kept"], row["dropped"]) for name, row in rows.items() if name != MODEL} == {
        "all-agree": (1, 3),
        "two-of-three": (2, 2),
        "majority": (3, 1),
        "experts-decide-splits": (1, 3),
    }
    assert rows["all-agree"]["dropped_by_question"] == {"q1": 2, "q2": 1, "q3": 1, "q4": 1}
    assert rows["majority"]["dropped_by_question"] == {"q3": 1}
    assert (rows["majority"]["added"], rows["majority"]["lost"]) == (2, 0)


def test_the_model_forgives_who_objects_to_everything() -> None:
    """One person says no to every story; the others agree on which of them are bad."""
    good = [story("", "", "q1", people=(1, 2, 9)) for _ in range(20)]
    bad = [story("q2", "q2", "q1", people=(1, 2, 9)) for _ in range(5)]
    rows = compared(good + bad)["filters"]
    assert rows["all-agree"]["kept"] == 0
    assert (rows[MODEL]["kept"], rows[MODEL]["added"], rows[MODEL]["lost"]) == (20, 20, 0)
    assert rows[MODEL]["converged"]


def test_nothing_to_compare() -> None:
    found = compared([])
    assert (found["stories"], found["votes"]) == (0, 0)
    assert all(row["kept"] == row["dropped"] == 0 for row in found["filters"].values())


@given(stories=st.lists(st.lists(objections, min_size=3, max_size=3), min_size=1, max_size=12))
def test_counts_what_the_filters_say_story_by_story(stories: list[list[frozenset[str]]]) -> None:
    rows = compared([list(enumerate(against)) for against in stories])["filters"]
    for name, rule in FILTERS.items():
        kept = 0
        for against in stories:
            votes = [
                [Choice(question, "", "no" if question in noes else "yes") for question in QUESTIONS]
                for noes in against
            ]
            verdict = verdict_of(
                rule, votes, votes_per_story=3, counts_against=lambda choice: choice.option == "no"
            )
            kept += verdict.outcome is Outcome.KEPT
        assert rows[name]["kept"] == kept
    for row in rows.values():
        assert row["kept"] + row["dropped"] == len(stories)
        assert row["kept"] - row["added"] + row["lost"] == rows["all-agree"]["kept"]
