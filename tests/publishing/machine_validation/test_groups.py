"""Groups and folds: what must stay together does."""

from __future__ import annotations

from collections import defaultdict

import pytest
from hypothesis import given, strategies as st

from publishing.machine_validation import groups
from publishing.machine_validation.questions import Question


def question(core: str, scenario: str = "s", entities: tuple[str, ...] = ()) -> Question:
    return Question("id", core, scenario, entities, "story", "question", "right", "wrong", "A")


def test_components_reach_through_others() -> None:
    assert groups.components([{"a"}, {"b"}, {"c"}, {"a", "c"}, set(), {"d"}]) == [0, 1, 0, 0, 2, 3]


QUESTIONS = st.lists(
    st.builds(
        question,
        st.sampled_from("abcdefghijkl"),
        st.sampled_from("pqrst"),
        st.lists(st.sampled_from("0123456789"), max_size=1).map(tuple),
    ),
    max_size=40,
)


@given(QUESTIONS, st.sampled_from(groups.GROUPINGS))
def test_nothing_that_is_shared_is_in_two_folds(questions: list[Question], grouping: str) -> None:
    folds = groups.folds_by(grouping, questions)
    if folds.count is None:
        assert folds.undefined
        return
    assert set(folds.fold_of) == set(range(folds.count))
    seen: defaultdict[tuple[str, str], set[int]] = defaultdict(set)
    for one, fold in zip(questions, folds.fold_of, strict=True):
        seen["core", one.core].add(fold)
        if grouping == "entities":
            for text in one.entities:
                seen["entity", text].add(fold)
        if grouping == "scenario":
            seen["scenario", one.scenario].add(fold)
    assert all(len(found) == 1 for found in seen.values())


def test_five_folds_of_about_the_same_size() -> None:
    sizes = (7, 5, 4, 3, 3, 2, 2, 2, 1, 1)
    folds = groups.folds_by(
        "core_id", [question(str(core)) for core, size in enumerate(sizes) for _ in range(size)]
    )
    assert sorted(folds.fold_of.count(fold) for fold in range(5)) == [5, 6, 6, 6, 7]


@pytest.mark.parametrize(("scenarios", "folds"), [(2, 2), (10, 10), (25, 25), (40, 25)])
def test_each_scenario_is_left_out_cached(scenarios: int, folds: int) -> None:
    made = groups.folds_by("scenario", [question(f"core {n}", f"scenario {n}") for n in range(scenarios)])
    assert (made.groups, made.count) == (scenarios, folds)


def test_a_core_in_two_scenarios_joins_them() -> None:
    made = groups.folds_by(
        "scenario", [question("a", "p"), question("a", "q"), question("b", "r"), question("c", "s")]
    )
    assert made.groups == 3
