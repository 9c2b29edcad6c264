"""Protocols whose item is a story with tables: rows, suggestions, and what is wrong with a file."""

from __future__ import annotations

import json
from typing import Any

import pytest

from annotation.forms import question_fields
from annotation.importing.rows import Problem, SourceRow, StoryRow
from annotation.protocols import get_protocol
from annotation.protocols.base import IncompleteForm, Protocol
from annotation.protocols.tables import MAX_TEXT, MOST_ENTRIES

LABELS, PAIRS, EXPERTS = map(get_protocol, ("belief-labels", "alignment", "expert-evaluation"))
LONG_ID = "b" * 39


def row_of(protocol: Protocol) -> dict[str, Any]:
    row: dict[str, Any] = json.loads(protocol.example.splitlines()[0])
    return row


def read(protocol: Protocol, **changes: Any) -> list[StoryRow | Problem]:
    row = {name: value for name, value in {**row_of(protocol), **changes}.items() if value is not None}
    return list(protocol.read([SourceRow("file.jsonl", 1, row)]))


def item(protocol: Protocol, **changes: Any) -> Any:
    (story,) = read(protocol, **changes)
    assert isinstance(story, StoryRow), story
    return protocol.parse(story.content)


BELIEF = {"id": "b1", "actor": "Anne", "belief": "The ball is in the box."}


def test_an_item_is_exported_as_it_came_in(subtests: pytest.Subtests) -> None:
    for protocol in [LABELS, PAIRS, EXPERTS]:
        with subtests.test(protocol.name):
            (story,) = read(protocol, core_id="core-1")
            assert isinstance(story, StoryRow)
            assert list(protocol.read([SourceRow("file.jsonl", 1, protocol.source_row(story))])) == [story]


def test_suggested_labels_are_chosen_and_belong_to_the_form() -> None:
    labelled = {**BELIEF, "labels": {"order": "1", "truth": "false"}}
    shown = item(LABELS, beliefs=[labelled, {**BELIEF, "id": "b2"}])
    assert LABELS.suggested(shown) == {"order.b1": "1", "truth.b1": "false"}
    (field,) = question_fields(LABELS, shown)
    chosen = {
        cell.name: [option.option.key for option in cell.options if option.checked]
        for group in field.groups
        for _, cell in group.cells
    }
    assert len(chosen) == 14
    assert {name: option for name, (option,) in ((n, o) for n, o in chosen.items() if o)} == {
        "order.b1": "1",
        "truth.b1": "false",
    }
    (blank,) = question_fields(LABELS, shown, answered={})
    assert not any(cell.chosen for group in blank.groups for _, cell in group.cells)
    with pytest.raises(IncompleteForm) as refused:
        LABELS.read_form(shown, LABELS.suggested(shown))
    assert len(refused.value.errors) == 12


def test_the_judges_counts_are_in_no_part_and_no_field() -> None:
    shown = item(PAIRS)
    assert shown == item(PAIRS, **{
        name: [{key: value for key, value in one.items() if key != "judge"} for one in row_of(PAIRS)[name]]
        for name in ("predicted", "gold")
    })  # fmt: skip
    assert PAIRS.suggested(shown) == {}
    (story,) = read(PAIRS)
    assert isinstance(story, StoryRow)
    assert [row.right for row in PAIRS.scored_rows(story.content)] == ["1", "0", "1"]
    assert [cell.field for cell in PAIRS.cells(shown)] == ["count.a-b1", "count.a-b2", "count.b-b1"]


def test_conditions_of_a_template_of_bigtoms_file_are_composed() -> None:
    row = {
        "story": "Ole leans the ladder against the tree. Ole believes it is there.",
        "aware": "He sees it carried off.",
        "unaware": "He does not see it carried off.",
        "action_aware": "Ole walks to the barn.",
        "action_unaware": "Ole walks to the tree.",
        "belief_question": "Where does Ole believe it is?",
        "action_question": "Where does Ole go?",
        "belief_answer_aware": "In the barn.",
        "belief_answer_unaware": "By the tree.",
        "action_answer_aware": "To the barn.",
        "action_answer_unaware": "To the tree.",
        "author": "human",
    }
    (story,) = EXPERTS.read([SourceRow("bigtom.csv", 1, row)])
    assert isinstance(story, StoryRow)
    texts = {one["id"]: one["text"] for one in story.content["conditions"]}
    assert len(texts) == 6
    assert texts["forward-belief-false"].startswith(f"{row['unaware']} {row['belief_question']} ")
    assert texts["backward-belief-true"].startswith(f"{row['action_aware']} {row['belief_question']} ")
    assert story.story_generator_model == "human"
    row["story"] = "Ada is here. Ada wants tea. Ada fills a cup. Ada believes it is tea. Bo pours it out."
    row |= {"random_event": "A cup falls.", "random_event_aware": "She sees it."}
    row["random_event_unaware"] = "She reads."
    (story,) = EXPERTS.read([SourceRow("bigtom.csv", 1, row)])
    assert isinstance(story, StoryRow)
    texts = {one["id"]: one["text"] for one in story.content["conditions"]}
    assert len(texts) == 25
    assert len([name for name in texts if name.endswith("-hidden")]) == 12
    control = texts["forward-action-false-control-hidden"]
    assert control.startswith("(Without the fourth sentence.) (Instead of the last sentence:) A cup falls.")
    assert row["action_unaware"] in texts["backward-belief-true-control"]
    assert texts["percept-to-belief"].startswith("(Only the first three sentences.)")
    problems = list(EXPERTS.read([SourceRow("bigtom.csv", 2, {**row, "aware": ""})]))
    assert problems
    assert all(isinstance(problem, Problem) and problem.field == "aware" for problem in problems)


WRONG: list[tuple[Any, ...]] = [
    (LABELS, {"story": None}, "story"),
    (LABELS, {"story": "a" * (MAX_TEXT + 1)}, "story"),
    (LABELS, {"beliefs": None}, "beliefs"),
    (LABELS, {"beliefs": []}, "beliefs"),
    (LABELS, {"beliefs": [BELIEF, BELIEF]}, "beliefs"),
    (LABELS, {"beliefs": [{**BELIEF, "id": f"b{n}"} for n in range(MOST_ENTRIES + 1)]}, "beliefs"),
    (LABELS, {"beliefs": [{**BELIEF, "belief": "<b>"}]}, "beliefs.belief"),
    (LABELS, {"beliefs": [{**BELIEF, "actor": " "}]}, "beliefs[0].actor"),
    (LABELS, {"beliefs": [{**BELIEF, "note": "x"}]}, "beliefs[0]"),
    (LABELS, {"beliefs": [{**BELIEF, "labels": {"mood": "sad"}}]}, "beliefs[0].labels"),
    (LABELS, {"beliefs": [{**BELIEF, "labels": {"truth": "maybe"}}]}, "beliefs[0].labels.truth"),
    (LABELS, {"beliefs": [{**BELIEF, "labels": {"order": True}}]}, "beliefs[0].labels.order"),
    (PAIRS, {"gold": [{**BELIEF, "id": LONG_ID}]}, "gold[0].id"),
    (PAIRS, {"gold": [{**BELIEF, "judge": 4}]}, "gold[0].judge"),
    (PAIRS, {"predicted": "x"}, "predicted"),
    (EXPERTS, {"conditions": [{"id": "a", "text": ""}]}, "conditions[0].text"),
    (EXPERTS, {"genre": "x"}, "genre"),
]


def test_what_is_wrong_with_a_row_is_named(subtests: pytest.Subtests) -> None:
    for protocol, changes, field in WRONG:
        with subtests.test(protocol.name):
            (problem,) = read(protocol, **changes)
            assert isinstance(problem, Problem)
            assert problem.field == field


def test_a_story_of_many_paragraphs_can_be_imported_again() -> None:
    """The blank lines that are put between them do not count."""
    shown = item(LABELS, story="\n".join(["a" * 9] * 1_100))
    (story,) = read(LABELS, story=shown.parts[0].text)
    assert isinstance(story, StoryRow)
    assert len(shown.parts[0].text) > MAX_TEXT
