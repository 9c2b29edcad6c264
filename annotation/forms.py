"""A protocol's questions as the templates show them, with what has been answered so far."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from annotation.protocols.base import (
    Choice,
    Instructions,
    Option,
    Part,
    Protocol,
    Question,
    Row,
    WorkedExample,
    field_name,
)


@dataclass(frozen=True, slots=True)
class OptionField:
    option: Option
    id: str
    key: str
    """The digit that chooses this option from the keyboard."""
    checked: bool


@dataclass(frozen=True, slots=True)
class RowField:
    row: Row
    name: str
    options: tuple[OptionField, ...]
    error: str

    @property
    def touched(self) -> bool:
        """Whether it shows anything but the bare question."""
        return bool(self.error) or any(option.checked for option in self.options)


@dataclass(frozen=True, slots=True)
class QuestionField:
    question: Question
    number: int
    parts: tuple[Part, ...]
    """What to show above the question: the parts it is about that the question before did not show."""
    rows: tuple[RowField, ...]
    same_for_all: str
    """Names the rendered question when it looks alike for every story, so that it is rendered once."""


@dataclass(frozen=True, slots=True)
class FieldError:
    name: str
    label: str
    text: str


def question_fields(
    protocol: Protocol,
    item: Any,
    *,
    answered: Mapping[str, str] | None = None,
    errors: Mapping[str, str] | None = None,
) -> list[QuestionField]:
    """The whole form about one item, in the order of the protocol's questions."""
    answered = answered or {}
    errors = errors or {}
    parts = {part.name: part for part in protocol.parts(item)}
    fields = []
    shown: tuple[str, ...] = ()
    for number, question in enumerate(protocol.questions, start=1):
        options = question.options_for(item)
        rows = tuple(
            _row_field(field_name(question.key, row.key), row, options, answered, errors)
            for row in question.rows_for(item)
        )
        fresh = () if question.shows == shown else tuple(parts[name] for name in question.shows)
        untouched = question.is_static and not any(row.touched for row in rows)
        same = f"{protocol.name}-{protocol.version}-{question.key}" if untouched else ""
        fields.append(QuestionField(question, number, fresh, rows, same))
        shown = question.shows
    return fields


def _row_field(
    name: str,
    row: Row,
    options: tuple[Option, ...],
    answered: Mapping[str, str],
    errors: Mapping[str, str],
) -> RowField:
    return RowField(
        row=row,
        name=name,
        options=tuple(
            OptionField(option, f"{name}-{option.key}", str(number), answered.get(name) == option.key)
            for number, option in enumerate(options, start=1)
        ),
        error=errors.get(name, ""),
    )


def answered_fields(choices: Iterable[Choice]) -> dict[str, str]:
    """Stored answers as form values."""
    return {field_name(choice.question, choice.row): choice.option for choice in choices}


def error_summary(protocol: Protocol, errors: Mapping[str, str]) -> list[FieldError]:
    """What is missing, as a list with links to the fields."""
    return [
        FieldError(name, str(protocol.question(name.split(".", 1)[0]).title), text)
        for name, text in errors.items()
    ]


@dataclass(frozen=True, slots=True)
class ExampleView:
    option: Option
    parts: tuple[Part, ...]
    justification: str


@dataclass(frozen=True, slots=True)
class QuestionExamples:
    question: Question
    examples: tuple[ExampleView, ...]


def instructions_context(protocol: Protocol) -> dict[str, Any]:
    """The instructions and their worked examples, grouped by question."""
    instructions: Instructions = protocol.instructions
    return {
        "instructions": instructions,
        "examples_by_question": [
            QuestionExamples(
                question,
                tuple(
                    _example_view(question, e) for e in instructions.examples if e.question == question.key
                ),
            )
            for question in protocol.questions
        ],
    }


def _example_view(question: Question, example: WorkedExample) -> ExampleView:
    own = Option(example.option, example.answer) if example.answer else None
    return ExampleView(own or question.option(example.option), example.parts, example.justification)
