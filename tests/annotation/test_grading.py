"""Grading, as a function of plain values."""

from __future__ import annotations

import pytest
from django.utils.translation import override
from hypothesis import given
from hypothesis import strategies as st

from annotation.grading import Asked, Cell, IncompleteAttempt, IncompleteKey, grade, key_problems

OPTIONS = ("yes", "possibly", "no")
cells = st.builds(Cell, st.sampled_from("abcde"), st.sampled_from(["q1", "q2"]), st.sampled_from(["", "row"]))
keys = st.dictionaries(cells, st.sets(st.sampled_from(OPTIONS), min_size=1), min_size=1)


@st.composite
def attempts(draw: st.DrawFn) -> tuple[dict[Cell, str], dict[Cell, set[str]]]:
    """A complete attempt and the key it is graded by."""
    key = draw(keys)
    return {cell: draw(st.sampled_from(OPTIONS)) for cell in key}, key


@given(attempts())
def test_passing_is_an_acceptable_answer_to_everything(
    attempt: tuple[dict[Cell, str], dict[Cell, set[str]]],
) -> None:
    answers, key = attempt

    outcome = grade(answers, key)

    assert outcome.passed == all(answers[cell] in key[cell] for cell in key)
    assert outcome.not_accepted == {cell for cell in key if answers[cell] not in key[cell]}


@given(attempts(), st.data())
def test_one_unacceptable_answer_fails(
    attempt: tuple[dict[Cell, str], dict[Cell, set[str]]], data: st.DataObject
) -> None:
    _, key = attempt
    narrow = {cell: options - {"no"} or {"yes"} for cell, options in key.items()}
    right = {cell: min(options) for cell, options in narrow.items()}
    wrong = data.draw(st.sampled_from(sorted(narrow)))

    assert grade(right, narrow).passed
    outcome = grade(right | {wrong: "no"}, narrow)

    assert not outcome.passed
    assert outcome.not_accepted == {wrong}


@given(attempts(), st.data())
def test_a_missing_answer_is_neither_right_nor_wrong(
    attempt: tuple[dict[Cell, str], dict[Cell, set[str]]], data: st.DataObject
) -> None:
    answers, key = attempt
    missing = data.draw(st.sets(st.sampled_from(sorted(key)), min_size=1))

    with pytest.raises(IncompleteAttempt) as refusal:
        grade({cell: option for cell, option in answers.items() if cell not in missing}, key)

    assert refusal.value.missing == sorted(missing)


@given(attempts(), st.data())
def test_a_key_that_is_silent_about_something_grades_nobody(
    attempt: tuple[dict[Cell, str], dict[Cell, set[str]]], data: st.DataObject
) -> None:
    answers, key = attempt
    silent = data.draw(st.sampled_from(sorted(key)))

    for broken in (key | {silent: set()}, {cell: key[cell] for cell in key if cell != silent}):
        with pytest.raises(IncompleteKey) as refusal:
            grade(answers, broken)
        assert not broken or silent in refusal.value.missing


def test_an_empty_key_passes_nobody() -> None:
    with pytest.raises(IncompleteKey):
        grade({}, {})


def test_refusals_name_what_is_missing() -> None:
    key = {Cell("one", "q1", ""): {"yes"}, Cell("one", "labels", "r2"): {"yes"}}
    with pytest.raises(IncompleteAttempt, match=r"no answer to one/labels\.r2, one/q1\."):
        grade({}, key)


def test_what_is_wrong_with_a_key_is_said_in_the_readers_language() -> None:
    everything = [Asked(name, "", name, frozenset(OPTIONS)) for name in ("q1", "q2")]
    with override("de"):
        found = list(key_problems("known_1", everything, {"q1": ["maybe"], "q9": ["yes"]}))

    assert found == [
        "known_1: Der Schlüssel nennt „q9“; das wird nicht gefragt.",
        "known_1, q1: „maybe“ ist nicht unter no, possibly, yes.",
        "known_1, q2: Der Schlüssel lässt nichts gelten; nennen Sie mindestens eines von no, possibly, yes.",
    ]
