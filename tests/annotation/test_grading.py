"""Grading, as a function of plain values."""

from __future__ import annotations

import pytest
from django.utils.translation import override
from hypothesis import given, settings, strategies as st

from annotation.grading import Cell, IncompleteAttempt, IncompleteKey, PassMark, grade, key_problems
from annotation.protocols.questions import FormCell, Option, Question, Row

OPTIONS = ("yes", "possibly", "no")
cells = st.builds(Cell, st.sampled_from("abcde"), st.sampled_from(["q1", "q2"]), st.sampled_from(["", "row"]))
keys = st.dictionaries(cells, st.sets(st.sampled_from(OPTIONS), min_size=1), min_size=1)


@st.composite
def attempts(draw: st.DrawFn) -> tuple[dict[Cell, str], dict[Cell, set[str]]]:
    """A complete attempt and the key it is graded by."""
    key = draw(keys)
    return {cell: draw(st.sampled_from(OPTIONS)) for cell in key}, key


@settings(max_examples=25)
@given(attempts())
def test_passing_is_an_acceptable_answer_to_everything(
    attempt: tuple[dict[Cell, str], dict[Cell, set[str]]],
) -> None:
    answers, key = attempt

    outcome = grade(answers, key)

    assert outcome.passed == all(answers[cell] in key[cell] for cell in key)
    assert outcome.not_accepted == {cell for cell in key if answers[cell] not in key[cell]}


@settings(max_examples=25)
@given(attempts(), st.integers(1, 12), st.sets(st.sampled_from("abcde")))
def test_a_pass_mark_counts_acceptable_answers_and_spares_no_story_that_must_be_passed(
    attempt: tuple[dict[Cell, str], dict[Cell, set[str]]], enough: int, must: set[str]
) -> None:
    answers, key = attempt
    right = [cell for cell in key if answers[cell] in key[cell]]

    outcome = grade(answers, key, PassMark(enough, frozenset(must)))

    flawless = all(cell in right for cell in key if cell.story in must)
    assert outcome.passed == (len(right) >= enough and flawless)
    assert outcome.not_accepted == grade(answers, key).not_accepted


@settings(max_examples=25)
@given(attempts(), st.data())
def test_a_missing_answer_is_neither_right_nor_wrong(
    attempt: tuple[dict[Cell, str], dict[Cell, set[str]]], data: st.DataObject
) -> None:
    answers, key = attempt
    missing = data.draw(st.sets(st.sampled_from(sorted(key)), min_size=1))

    with pytest.raises(IncompleteAttempt) as refusal:
        grade({cell: option for cell, option in answers.items() if cell not in missing}, key)

    assert ", ".join(map(str, sorted(missing))) in str(refusal.value)


@settings(max_examples=25)
@given(attempts(), st.data())
def test_a_key_that_is_silent_about_something_grades_nobody(
    attempt: tuple[dict[Cell, str], dict[Cell, set[str]]], data: st.DataObject
) -> None:
    answers, key = attempt
    silent = data.draw(st.sampled_from(sorted(key)))

    for broken in (key | {silent: set()}, {cell: key[cell] for cell in key if cell != silent}):
        with pytest.raises(IncompleteKey) as refusal:
            grade(answers, broken)
        assert not broken or str(silent) in str(refusal.value)


def test_an_empty_key_passes_nobody() -> None:
    with pytest.raises(IncompleteKey):
        grade({}, {})


def test_refusals_name_what_is_missing() -> None:
    key = {Cell("one", "q1", ""): {"yes"}, Cell("one", "labels", "r2"): {"yes"}}
    with pytest.raises(IncompleteAttempt, match="no answer to one/labels/r2, one/q1"):
        grade({}, key)


def test_what_is_wrong_with_a_key_is_said_in_the_readers_language() -> None:
    options = tuple(Option(key, key) for key in OPTIONS)
    questions = [Question(key, key, "", options) for key in ("q1", "q2")]
    everything = [FormCell(at, one, Row(""), options) for at, one in enumerate(questions, start=1)]
    with override("de"):
        found = list(key_problems("known_1", everything, {"q1": ["maybe"], "q9": ["yes"]}))

    assert found == [
        "known_1: Der Schlüssel nennt „q9“; das wird nicht gefragt.",
        "known_1, q1: „maybe“ ist nicht unter no, possibly, yes.",
        "known_1, q2: Der Schlüssel lässt nichts gelten; nennen Sie mindestens eines von no, possibly, yes.",
    ]
