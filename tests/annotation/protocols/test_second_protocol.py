"""A second protocol is a new file and nothing else: one with every other kind of question works.

The protocol of this test rates an item from 1 to 5, asks a multiple choice question whose options
come from the item, and has a table of rows to label. It uses the contract in ``base`` unchanged.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from annotation.importing.rows import Problem, SourceRow, StoryRow
from annotation.protocols.base import IncompleteForm, Instructions, Part, Protocol, Section
from annotation.protocols.questions import SINGLE_ROW, Choice, Option, Question, Row, field_name


@dataclass(frozen=True, slots=True)
class Dialogue:
    """An item with answers of its own and a number of lines that differs from item to item."""

    text: str
    endings: tuple[str, ...]
    lines: tuple[str, ...]


class EndingQuestion(Question):
    """Multiple choice: the options are the item's own endings."""

    def options_for(self, item: Dialogue) -> tuple[Option, ...]:
        return tuple(
            Option(f"ending-{number}", ending) for number, ending in enumerate(item.endings, start=1)
        )


class LineLabels(Question):
    """A table: each line of the item gets one label."""

    def rows_for(self, item: Dialogue) -> tuple[Row, ...]:
        return tuple(Row(f"line-{number}", line) for number, line in enumerate(item.lines, start=1))


class DialogueProtocol(Protocol):
    name = "dialogue"
    version = "1"
    title = "Dialogues"
    questions = (
        Question(
            key="fluency",
            title="Fluency",
            text="How natural is it?",
            options=tuple(Option(str(n), str(n), counts_against=n == 1) for n in range(1, 6)),
            shows=("text",),
        ),
        EndingQuestion(key="ending", title="Ending", text="How does it end?", options=()),
        LineLabels(
            key="label",
            title="Lines",
            text="What does each line express?",
            options=(Option("belief", "A belief"), Option("wish", "A wish")),
        ),
    )
    instructions = Instructions(
        sections=(
            Section("Why", ("Because.",)),
            Section("What", ("A dialogue.",)),
            Section("How", ("With care.",)),
        ),
        examples=(),
    )

    def parse(self, content: Mapping[str, Any]) -> Dialogue:
        return Dialogue(content["text"], tuple(content["endings"]), tuple(content["lines"]))

    def parts(self, item: Dialogue) -> tuple[Part, ...]:
        return (Part("text", "Dialogue", item.text),)

    def read(self, rows: Iterable[SourceRow]) -> Iterator[StoryRow | Problem]:
        for row in rows:
            yield StoryRow(
                file=row.file,
                line=row.line,
                story_id=row.data["id"],
                core_id=row.data["id"],
                scenario_name="dialogue",
                content=dict(row.data),
            )


PROTOCOL = DialogueProtocol()
CONTENT = {
    "id": "d1",
    "text": "A: It will rain. B: I hope not.",
    "endings": ["They stay in.", "They go out.", "They quarrel."],
    "lines": ["It will rain.", "I hope not."],
}
ITEM = PROTOCOL.parse(CONTENT)
COMPLETE = {"fluency": "4", "ending": "ending-3", "label.line-1": "belief", "label.line-2": "wish"}


def test_one_answer_is_read_for_every_question_and_row() -> None:
    assert PROTOCOL.read_form(ITEM, COMPLETE) == (
        Choice("fluency", "", "4"),
        Choice("ending", "", "ending-3"),
        Choice("label", "line-1", "belief"),
        Choice("label", "line-2", "wish"),
    )


def test_a_rating_outside_the_scale_is_refused(subtests: pytest.Subtests) -> None:
    for rating in ["0", "6", "4.5", " 4", "four"]:
        with subtests.test(str(rating)):
            with pytest.raises(IncompleteForm) as refused:
                PROTOCOL.read_form(ITEM, COMPLETE | {"fluency": rating})
            assert set(refused.value.errors) == {"fluency"}


def test_the_options_offered_are_those_of_the_item() -> None:
    shorter = PROTOCOL.parse(CONTENT | {"endings": CONTENT["endings"][:2]})
    assert PROTOCOL.read_form(ITEM, COMPLETE)
    with pytest.raises(IncompleteForm) as refused:
        PROTOCOL.read_form(shorter, COMPLETE)
    assert set(refused.value.errors) == {"ending"}


def test_every_row_of_a_table_needs_its_label() -> None:
    longer = PROTOCOL.parse(CONTENT | {"lines": [*CONTENT["lines"], "Let us see."]})
    with pytest.raises(IncompleteForm) as refused:
        PROTOCOL.read_form(longer, COMPLETE | {"label.line-1": "fear"})
    assert set(refused.value.errors) == {"label.line-1", "label.line-3"}


def test_fields_that_the_form_does_not_have_are_left_alone() -> None:
    extra = COMPLETE | {"label.line-9": "belief", "token": "abc"}
    assert PROTOCOL.read_form(ITEM, extra) == PROTOCOL.read_form(ITEM, COMPLETE)


def test_a_question_has_one_unnamed_row_unless_it_is_a_table() -> None:
    rows = {question.key: question.rows_for(ITEM) for question in PROTOCOL.questions}
    assert rows["fluency"] == rows["ending"] == SINGLE_ROW
    assert field_name("fluency") == "fluency"
    assert field_name("label", rows["label"][1].key) == "label.line-2"


def test_its_own_rule_says_what_counts_against_an_item() -> None:
    assert PROTOCOL.counts_against(None, Choice("fluency", "", "1"))
    assert not PROTOCOL.counts_against(None, Choice("fluency", "", "2"))


def test_it_reads_its_own_files_and_is_silent_where_it_has_nothing_to_warn_about() -> None:
    (story,) = PROTOCOL.read([SourceRow(file="dialogues.jsonl", line=1, data=CONTENT)])
    assert isinstance(story, StoryRow)
    assert PROTOCOL.parse(story.content) == ITEM
    assert PROTOCOL.lint(story) == ()
