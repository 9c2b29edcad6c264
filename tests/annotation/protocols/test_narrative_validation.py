"""The narrative-validation protocol: a narrative, and questions with options of their own as rows."""

from __future__ import annotations

import json
from typing import Any

import pytest

from annotation.forms import question_fields
from annotation.importing.rows import Problem, SourceRow, StoryRow
from annotation.protocols import get_protocol
from annotation.protocols.base import IncompleteForm
from annotation.protocols.questions import Choice
from annotation.protocols.tables import MAX_TEXT

PROTOCOL = get_protocol("narrative-validation")
ROW = json.loads(PROTOCOL.example.splitlines()[0])
PLACE, FEEL = ROW["questions"]


def read(**changes: Any) -> list[StoryRow | Problem]:
    row = {name: value for name, value in {**ROW, **changes}.items() if value is not None}
    return list(PROTOCOL.read([SourceRow("narratives.jsonl", 1, row)]))


def item(**changes: Any) -> Any:
    (story,) = read(**changes)
    assert isinstance(story, StoryRow), story
    return PROTOCOL.parse(story.content)


def test_each_question_is_a_row_with_its_own_options() -> None:
    cells = list(PROTOCOL.cells(item()))
    assert [(cell.field, [*cell.labels]) for cell in cells] == [
        ("answer.place-1", ["first", "moved"]),
        ("answer.feel", ["pos", "neu", "neg"]),
    ]
    assert [cell.row.label for cell in cells] == [PLACE["question"], FEEL["question"]]
    (field,) = question_fields(PROTOCOL, item())
    assert [[one.option.label for one in row.options] for row in field.rows] == [
        ["in the blue cup", "in the drawer"],
        ["Positive", "Neutral", "Negative"],
    ]
    assert [[one.key for one in row.options] for row in field.rows] == [["1", "2"], ["1", "2", "3"]]
    drawn = {
        tuple(one.option.key for one in row.options)
        for seed in range(20)
        for row in question_fields(PROTOCOL, item(), option_seed=seed)[0].rows
    }
    assert {("moved", "first"), ("first", "moved")} < drawn


def test_a_form_takes_of_each_row_its_own_options_only() -> None:
    answers = {"answer.place-1": "first", "answer.feel": "neg"}
    choices = PROTOCOL.read_form(item(), answers)
    assert choices == (Choice("answer", "place-1", "first"), Choice("answer", "feel", "neg"))
    assert not any(PROTOCOL.counts_against(item(), choice) for choice in choices)
    with pytest.raises(IncompleteForm) as refused:
        PROTOCOL.read_form(item(), {"answer.place-1": "neg"})
    assert [*refused.value.errors] == ["answer.place-1", "answer.feel"]


def test_right_answers_are_told_by_kind_and_may_be_unknown() -> None:
    unknown = {name: value for name, value in FEEL.items() if name != "answerKey"}
    (story,) = read(questions=[PLACE, unknown])
    assert isinstance(story, StoryRow)
    rows = PROTOCOL.scored_rows(story.content)
    assert [(row.row, row.right, row.options, row.kind) for row in rows] == [
        ("place-1", "first", 2, "location, first order"),
        ("feel", "", 3, "attitude"),
    ]
    assert not hasattr(item(), "questions")


def test_a_narrative_keeps_its_paragraphs_and_may_have_ten_thousand_characters() -> None:
    assert item(narrative="  One. \n\n\nTwo.").parts[0].text == "One.\n\nTwo."
    assert len(item(narrative="a" * MAX_TEXT).parts[0].text) == MAX_TEXT
    (problem,) = read(narrative="a" * (MAX_TEXT + 1))
    assert isinstance(problem, Problem)
    assert (problem.field, "10,000" in problem.message) == ("narrative", True)
    (field,) = question_fields(PROTOCOL, item(narrative="Word. " * 200))
    assert (field.is_long, field.described_by) == (True, "")
    (field,) = question_fields(PROTOCOL, item())
    assert (field.is_long, field.described_by) == (False, "part-story")


def test_a_narrative_is_exported_as_it_came_in() -> None:
    (story,) = read(core_id="core-1", source=None)
    assert isinstance(story, StoryRow)
    assert list(PROTOCOL.read([SourceRow("narratives.jsonl", 1, PROTOCOL.source_row(story))])) == [story]


WRONG: list[tuple[Any, ...]] = [
    ({"narrative": " \n "}, "narrative"),
    ({"narrative": "A <b>story</b>."}, "narrative"),
    ({"questions": None}, "questions"),
    ({"questions": "[1"}, "questions"),
    ({"questions": []}, "questions"),
    ({"questions": [PLACE, PLACE]}, "questions"),
    ({"questions": ["where?"]}, "questions[0]"),
    ({"questions": [PLACE, {**FEEL, "kind": ""}]}, "questions[1].kind"),
    ({"questions": [{**PLACE, "id": "Place 1"}]}, "questions[0].id"),
    ({"questions": [{**PLACE, "id": "place-1\n"}]}, "questions[0].id"),
    ({"questions": [{**PLACE, "answerKey": "third"}]}, "questions[0].answerKey"),
    ({"questions": [{**PLACE, "answerKey": ["first"]}]}, "questions[0].answerKey"),
    ({"questions": [{**PLACE, "choices": {"text": ["one"], "label": ["a"]}}]}, "questions[0].choices"),
    ({"questions": [{**PLACE, "question": "<i>Where?</i>"}]}, "questions.question"),
    ({"genre": "attitude"}, "genre"),
]


def test_what_is_wrong_with_a_row_is_named(subtests: pytest.Subtests) -> None:
    for changes, field in WRONG:
        with subtests.test(str(changes)):
            (problem,) = read(**changes)
            assert isinstance(problem, Problem)
            assert problem.field == field
