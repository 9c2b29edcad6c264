"""Statistics of right answers and of pairs of people, against scikit-learn and by hand."""

from __future__ import annotations

import random
from collections import defaultdict
from itertools import combinations
from statistics import fmean

import pytest

from annotation.protocols.base import Scored
from publishing.statistics.accuracy import accuracy_by_kind
from publishing.statistics.answered import Answered
from publishing.statistics.pairs import pairwise_f1

KINDS = {"place": ("yes", "no"), "feeling": ("pos", "neu", "neg")}


def test_by_hand() -> None:
    answered = [
        Answered(f"c{item}", Scored("", "a", 2, "kind"), {"p1": first, "p2": second})
        for item, (first, second) in enumerate([("a", "a"), ("a", "b"), ("b", "b"), ("b", "b")])
    ]
    one = pairwise_f1(answered)["kinds"]["kind"]
    # a: chosen by both once, twice and once: 2 · 1 / 3; b: by both twice, twice and three times: 2 · 2 / 5
    assert one["macro_f1"] == pytest.approx((2 / 3 + 4 / 5) / 2)
    assert (one["questions"], one["pairs"], one["lowest"]) == (4, 1, one["highest"])


@pytest.mark.parametrize("people", [3, 5])
def test_the_mean_over_pairs_is_that_of_scikit_learn(people: int) -> None:
    """With five people, three for each narrative: pairs then share different narratives."""
    from sklearn.metrics import f1_score  # loaded here: every worker imports this module

    chance = random.Random(people)
    answered = []
    together: defaultdict[tuple[str, str, str], list[tuple[str, str]]] = defaultdict(list)
    for narrative in range(40):
        readers = sorted(chance.sample([f"annotator-{person}" for person in range(people)], 3))
        rows = [
            Scored(f"q{place}", "", len(options), kind)
            for place, (kind, options) in enumerate([*KINDS.items()] * 2)
        ]
        chosen = {row.row: {reader: chance.choice(KINDS[row.kind]) for reader in readers} for row in rows}
        answered += [Answered(f"c{narrative}", row, chosen[row.row]) for row in rows]
        for row in rows:
            for one, other in combinations(readers, 2):
                for kind in (row.kind, "all"):
                    together[kind, one, other].append((chosen[row.row][one], chosen[row.row][other]))
    document = pairwise_f1(answered)
    entries = {**document["kinds"], "all": document["all"]}
    assert set(entries) == {*KINDS, "all"}
    for kind, entry in entries.items():
        scores = [
            f1_score(*map(list, zip(*pairs, strict=True)), average="macro")
            for (of, _, _), pairs in together.items()
            if of == kind
        ]
        assert entry["pairs"] == len(scores) == people * (people - 1) // 2
        assert entry["macro_f1"] == pytest.approx(fmean(scores), abs=1e-9)
        assert (entry["lowest"], entry["highest"]) == pytest.approx((min(scores), max(scores)), abs=1e-9)
    assert [entry["questions"] for entry in entries.values()] == [80, 80, 160]


def test_nobody_else_answered() -> None:
    found = pairwise_f1([Answered("c", Scored("", "a", 2, "kind"), {"p1": "a"})])
    assert found["kinds"]["kind"]["macro_f1"] is None


def test_a_question_without_a_right_answer_has_no_accuracy() -> None:
    rows = [Scored("q1", "a", 2, "place"), Scored("q2", "", 3, "feeling")]
    document = accuracy_by_kind([Answered("c", row, {"p1": "a", "p2": "b"}) for row in rows], 2)
    assert [*document["configs"]] == ["place"]
    assert (document["all"]["accuracy"], document["all"]["votes"]) == (0.5, 2)
