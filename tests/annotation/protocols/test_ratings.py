"""The ratings protocol: its statements, its files, and what it refuses."""

from __future__ import annotations

import json
from typing import Any

import pytest

from annotation.importing.rows import Problem, SourceRow, StoryRow
from annotation.protocols import get_protocol
from annotation.protocols.questions import Choice, Scale

PROTOCOL = get_protocol("ratings")
ROW = json.loads(PROTOCOL.example.splitlines()[0])


def read(**changes: Any) -> list[StoryRow | Problem]:
    row = {name: value for name, value in {**ROW, **changes}.items() if value is not None}
    return list(PROTOCOL.read([SourceRow("items.jsonl", 1, row)]))


def test_three_statements_from_disagreement_to_agreement() -> None:
    assert [question.key for question in PROTOCOL.questions] == ["understandable", "coherent", "unambiguous"]
    for question in PROTOCOL.questions:
        assert isinstance(question, Scale)
        assert (question.low, question.high) == (1, 5)
        assert (question.lowest, question.highest) == ("Strongly disagree", "Strongly agree")
    assert PROTOCOL.follows
    assert PROTOCOL.follows.votes == 20


def test_an_item_is_read_with_its_condition_and_source() -> None:
    (item,) = read()
    assert isinstance(item, StoryRow)
    assert (item.story_id, item.core_id, item.scenario_name) == ("item-1", "item-1", "false belief")
    assert item.story_generator_model == "model-1"
    assert [part.name for part in PROTOCOL.parts(PROTOCOL.parse(item.content))] == [
        "story", "question", "answer_a", "answer_b"
    ]  # fmt: skip


def test_every_rating_is_read_and_none_counts_against_an_item() -> None:
    item = PROTOCOL.parse(ROW)
    given = {"understandable": "1", "coherent": "3", "unambiguous": "5"}
    choices = PROTOCOL.read_form(item, given)
    assert choices == tuple(Choice(key, "", rating) for key, rating in given.items())
    assert not any(PROTOCOL.counts_against(item, choice) for choice in choices)


def test_an_item_is_exported_as_it_came_in() -> None:
    (item,) = read(core_id="core-1", source=None)
    assert isinstance(item, StoryRow)
    row = PROTOCOL.source_row(item)
    assert list(PROTOCOL.read([SourceRow("items.jsonl", 1, row)])) == [item]


WRONG: list[tuple[Any, ...]] = [
    ({"answer_b": None}, "answer_b"),
    ({"condition": ""}, "condition"),
    ({"story_id": "17"}, "story_id"),
    ({"story": "A <b>story</b>."}, "story"),
    ({"answers": "yes"}, "answers"),
]


def test_what_is_wrong_with_a_row_is_named(subtests: pytest.Subtests) -> None:
    for changes, field in WRONG:
        with subtests.test(str(changes)):
            (problem,) = read(**changes)
            assert isinstance(problem, Problem)
            assert problem.field == field


@pytest.mark.parametrize("example", PROTOCOL.instructions.examples)
def test_examples_show_what_their_question_shows(example: Any) -> None:
    question = PROTOCOL.question(example.question)
    assert question.option(example.option)
    assert tuple(part.name for part in example.parts) == question.shows
    assert example.justification
