"""Statistics of label tables: OmniToM's published figures from its counts, and by hand."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from annotation.protocols.base import Scored
from annotation.protocols.questions import Choice
from annotation.rules import majority
from publishing.files.rows import CountedVote, Decision
from publishing.statistics.answered import Answered
from publishing.statistics.labels import label_rows, match_count, strict_agreement, suggestions

BELIEFS = 390
ALIKE = {
    "order": 382,
    "truth": 338,
    "access": 335,
    "representation": 380,
    "content": 346,
    "source": 368,
    "context": 369,
}
"""The beliefs on whose label all three annotators agreed, of 390 (OmniToM)."""


def rows(kind: str, alike: int, total: int) -> list[Answered]:
    people = ("p1", "p2", "p3")
    return [
        Answered(
            f"c{place % 21}",
            Scored(f"b{place}", "a", 3, kind, kind),
            dict(zip(people, "aaa" if place < alike else "aab", strict=True)),
            f"s{place % 21}",
        )
        for place in range(total)
    ]


def test_the_reliability_of_the_published_labels_follows_from_their_counts() -> None:
    answered = [row for kind, alike in ALIKE.items() for row in rows(kind, alike, BELIEFS)]
    found = strict_agreement(answered)
    assert {kind: (one["rows"], one["alike"]) for kind, one in found["kinds"].items()} == {
        kind: (BELIEFS, alike) for kind, alike in ALIKE.items()
    }
    shares = {kind: round(100 * one["share"], 2) for kind, one in found["kinds"].items()}
    assert shares == {
        "order": 97.95,
        "truth": 86.67,
        "access": 85.9,
        "representation": 97.44,
        "content": 88.72,
        "source": 94.36,
        "context": 94.62,
    }
    assert (found["all"]["alike"], found["all"]["rows"]) == (2518, 2730)
    assert round(100 * found["all"]["share"], 2) == 92.23
    low, high = found["all"]["interval"]
    assert low < found["all"]["share"] < high
    assert found["all"]["undecided"] == 0


@pytest.mark.parametrize(
    ("alike", "total", "published"), [(360, 430, 83.72), (3955, 4451, 88.86)], ids=["extraction", "alignment"]
)
def test_other_published_shares(alike: int, total: int, published: float) -> None:
    assert round(100 * strict_agreement(rows("kind", alike, total))["all"]["share"], 2) == published


def pair_of_tables(
    predicted: str, gold: str, *, story: str = "s", person: str = "p", judge: str = "", predictor: str = "m"
) -> list[Answered]:
    both = [("predicted", count) for count in predicted] + [("gold", count) for count in gold]
    judged = judge or [""] * len(both)
    return [
        Answered(
            story,
            Scored(f"{table}-{place}", judged[place], 4, predictor, "count", table),
            {person: count},
            story,
        )
        for place, (table, count) in enumerate(both)
    ]


def test_the_worked_case_of_match_count() -> None:
    found = match_count(pair_of_tables("111111", "110211"))["all"]
    assert (found["precision"], found["recall"]) == (1, pytest.approx(5 / 6, abs=1e-9))
    assert found["f1"] == pytest.approx(10 / 11, abs=1e-9)
    assert [found[f"count_{number}"] for number in range(4)] == [1, 10, 1, 0]
    assert (found["stories"], found["judge_agreement"], found["interval"]) == (1, None, None)


def test_match_count_is_a_mean_over_people_and_then_over_stories() -> None:
    answered = [
        *pair_of_tables("10", "1", story="s1", person="p1"),
        *pair_of_tables("11", "1", story="s1", person="p2"),
        *pair_of_tables("0", "0", story="s2", person="p1", judge="01"),
    ]
    found = match_count(answered)["all"]
    assert found["precision"] == ((1 / 2 + 1) / 2 + 0) / 2
    assert found["recall"] == 1 / 2
    assert found["f1"] == pytest.approx(((2 / 3 + 1) / 2 + 0) / 2)
    assert found["judge_agreement"] == 1 / 2
    counts = [found[f"count_{number}"] for number in range(4)]
    assert counts == [3, 5, 0, 0]


def test_each_predictor_is_told_by_itself() -> None:
    answered = [*pair_of_tables("1", "1"), *pair_of_tables("0", "0", story="s2", predictor="other")]
    found = match_count(answered)
    assert {kind: one["f1"] for kind, one in found["kinds"].items()} == {"m": 1, "other": 0}
    assert found["all"]["f1"] == 1 / 2


def test_the_published_distribution_of_counts() -> None:
    published = {0: 2002, 1: 2651, 2: 61, 3: 1}
    given = "".join(str(number) * times for number, times in published.items())
    found = match_count(pair_of_tables(given, "1"))["all"]
    assert [found[f"count_{number}"] for number in range(4)] == [2002, 2652, 61, 1]
    assert sum(published.values()) == 4715


def test_what_people_changed_is_told_of_suggested_rows_alone() -> None:
    answered = [
        *rows("kind", 1, 3),  # one row as suggested, two where one of three changed it
        Answered("c", Scored("x", "b", 3, "kind"), {"p1": "a", "p2": "a", "p3": "b"}),
        Answered("c", Scored("y", "", 3, "kind"), {"p1": "a", "p2": "b", "p3": "c"}),
    ]
    found = suggestions(answered)["all"]
    assert (found["rows"], found["answers"], found["changed"], found["overruled"]) == (4, 12, 4, 1)
    assert found["share"] == pytest.approx(4 / 12)
    assert strict_agreement(answered)["all"]["undecided"] == 1


BY_EXPERT = Decision("false", "The story says so.", datetime(2026, 11, 1, tzinfo=UTC))


def test_a_label_needs_more_than_half_of_the_answers() -> None:
    assert majority("aab") == ("a", 2)
    assert majority("ab") == (None, 1)
    assert majority("aabb") == (None, 2)
    votes = [
        CountedVote(person, (Choice("truth", "b1", option), Choice("order", "b1", "1")), "", 1.0)
        for person, option in (("p1", "true"), ("p2", "false"), ("p3", "unknown"))
    ]
    assert list(
        label_rows("s", votes, {"truth.b2": BY_EXPERT, "order.b1": BY_EXPERT}, {"order.b1": "2"})
    ) == [
        {
            "story_id": "s",
            "labelled": "order.b1",
            "answers": 3,
            "agreeing": 3,
            "label": "1",
            "decided_by": "votes",
            "suggested": "2",
        },
        {
            "story_id": "s",
            "labelled": "truth.b1",
            "answers": 3,
            "agreeing": 1,
            "label": None,
            "decided_by": None,
            "suggested": None,
        },
    ]
    decided = list(label_rows("s", votes, {"truth.b1": BY_EXPERT}, {}))
    assert [(row["label"], row["decided_by"]) for row in decided] == [("1", "votes"), ("false", "expert")]
