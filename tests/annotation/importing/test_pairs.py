"""The generator's processed rows: two rows a story, in any order, that have to agree."""

from __future__ import annotations

from typing import Any

import pytest

from annotation.importing.rows import Problem, StoryRow
from annotation.importing.validation import check_rows
from annotation.protocols.validity.item import parse
from annotation.protocols.validity.reading import read
from tests.annotation.importing.samples import (
    ACTION_ROW,
    AWARE_ROW,
    STORY_ROW,
    problems_in,
    source_rows,
    stories_in,
    with_,
    without,
)


def pair(story_id: str) -> tuple[dict[str, Any], dict[str, Any]]:
    return with_(AWARE_ROW, id=f"{story_id}_aware"), with_(ACTION_ROW, id=f"{story_id}_action")


@pytest.mark.parametrize(
    "rows", [(AWARE_ROW, ACTION_ROW), (ACTION_ROW, AWARE_ROW)], ids=["aware-first", "action-first"]
)
def test_a_pair_is_one_story(rows: tuple[dict[str, Any], ...]) -> None:
    [story] = stories_in(*rows)
    assert (story.story_id, story.core_id, story.severity_original) == ("honey_sev2", "honey", 2)
    assert (story.story_prompt_example, story.story_generator_model) == ("milk_carton", "model-1")
    assert story.content == stories_in(STORY_ROW)[0].content
    assert story.line == rows.index(ACTION_ROW) + 1


def test_the_two_rows_may_stand_far_apart() -> None:
    pairs = [pair(f"jar{n}") for n in range(50)]
    rows = [aware for aware, _ in pairs] + [action for _, action in reversed(pairs)]
    assert len(stories_in(*rows)) == 50


def test_a_file_written_twice_over_is_read_once() -> None:
    stories = stories_in(AWARE_ROW, ACTION_ROW, AWARE_ROW, ACTION_ROW)
    assert len(list(check_rows(stories, longest={}, parse=parse))) == 1


@pytest.mark.parametrize(
    ("row", "mate"), [(AWARE_ROW, "action"), (ACTION_ROW, "aware")], ids=["aware", "action"]
)
def test_a_row_without_its_mate_is_told_at_its_line(row: dict[str, Any], mate: str) -> None:
    found = problems_in(*pair("whole"), row, *pair("another"))
    assert [(problem.line, problem.field) for problem in found] == [(3, "id")]
    assert f"no row “honey_sev2_{mate}” beside it" in found[0].message


DISAGREEING: dict[str, Any] = {
    "scenario_name": "locked_devices_accounts",
    "story_prompt_example": "another",
    "severity": None,
    "generator_model": "model-2",
    "entities": {"Person X": "Nadia"},
    "story": f"{ACTION_ROW['key_information']} {ACTION_ROW['story_sentence']}",
}


@pytest.mark.parametrize("first", ["aware", "action"])
def test_two_rows_that_do_not_agree_are_told_by_the_field(first: str, subtests: pytest.Subtests) -> None:
    for field, other in DISAGREEING.items():
        with subtests.test(field):
            rows = [with_(AWARE_ROW, **{field: other}), ACTION_ROW]
            [problem] = problems_in(*(rows if first == "aware" else reversed(rows)))
            assert (problem.line, problem.field) == (2, field)
            assert f"line 1 has another {field}" in problem.message


def test_a_pair_that_disagrees_gives_no_story_when_the_action_comes_last() -> None:
    outcomes = list(read(source_rows([with_(AWARE_ROW, severity=None), ACTION_ROW])))
    assert [type(outcome) for outcome in outcomes] == [Problem]


REFUSED: dict[str, tuple[dict[str, Any], dict[str, Any], str, str]] = {
    "answer-yes": (
        {"answer_correct": "Yes", "answer_incorrect": "No"},
        {},
        "question",
        "right answer is “Yes”",
    ),
    "other-question": ({"question": "Does Nadia like honey?"}, {}, "question", "does not quote"),
    "same-actions": ({}, {"answer_incorrect": "pay for the honey"}, "answer_incorrect", "the same"),
    "id-of-another-severity": ({"severity": 1}, {}, "severity", "says 2"),
    "html": ({}, {"answer_correct": "<b>pay</b>"}, "answer_correct", "HTML"),
    "unknown-field": ({}, {"answer": "x"}, "answer", "no field"),
}


def test_a_bad_half_is_refused_without_a_second_complaint_about_the_pair(subtests: pytest.Subtests) -> None:
    for case in REFUSED:
        with subtests.test(case):
            aware, action, field, message = REFUSED[case]
            [problem] = problems_in(with_(AWARE_ROW, **aware), with_(ACTION_ROW, **action))
            assert problem.field == field
            assert message in problem.message


def test_an_id_without_its_ending_is_refused(subtests: pytest.Subtests) -> None:
    for row_id in ["honey", "honey_sev2", "_action", "honey_judge"]:
        with subtests.test(row_id):
            [problem] = problems_in(with_(ACTION_ROW, id=row_id))
            assert problem.field == "id"


def test_the_same_half_twice_with_other_content_names_both_lines() -> None:
    found = problems_in(ACTION_ROW, with_(ACTION_ROW, answer_correct="go home"), AWARE_ROW)
    assert [(problem.line, problem.field) for problem in found] == [(2, "answer_correct")]
    assert "stands at line 1 with another answer_correct" in found[0].message


def test_a_missing_field_is_named() -> None:
    [problem] = problems_in(AWARE_ROW, without(ACTION_ROW, "answer_incorrect"))
    assert (problem.line, problem.field) == (2, "answer_incorrect")


def test_kinds_of_rows_may_be_mixed_in_a_file() -> None:
    outcomes = list(read(source_rows([AWARE_ROW, with_(STORY_ROW, story_id="jam"), ACTION_ROW])))
    assert [outcome.story_id for outcome in outcomes if isinstance(outcome, StoryRow)] == [
        "jam",
        "honey_sev2",
    ]
