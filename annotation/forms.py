"""Prepare a protocol's questions for templates, with the answers so far."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.html import escape, format_html
from django.utils.safestring import SafeString

from annotation.models import InstructionText
from annotation.ordering import ordered
from annotation.protocols.base import Instructions, Option, Part, Protocol, Question, Row, field_name

SHORTEST_SENTENCE = 20
"""Fewer characters than this are a name: finding them again in a part makes the rest of it no news."""


@dataclass(frozen=True, slots=True)
class OptionField:
    option: Option
    id: str
    key: str
    """The digit key that chooses this option."""
    checked: bool


@dataclass(frozen=True, slots=True)
class RowField:
    row: Row
    name: str
    options: tuple[OptionField, ...]
    error: str

    @property
    def touched(self) -> bool:
        """Return True if the field has an answer or an error to show."""
        return bool(self.error) or any(option.checked for option in self.options)


@dataclass(frozen=True, slots=True)
class PartField:
    """A part of the item above a question. Marks in its text what no part before had."""

    name: str
    label: str
    text: SafeString


@dataclass(frozen=True, slots=True)
class QuestionField:
    question: Question
    number: int
    parts: tuple[PartField, ...]
    """Parts of the item to show above the question, without those shown above an earlier one."""
    rows: tuple[RowField, ...]
    same_for_all: str
    """Cache key of the rendered question, if it looks alike for every story."""

    @property
    def described_by(self) -> str:
        """Return the ids of the parts that the question is about, for screen readers."""
        return " ".join(f"part-{name}" for name in self.question.shows)


def question_fields(
    protocol: Protocol,
    item: Any,
    *,
    answered: Mapping[str, str] | None = None,
    errors: Mapping[str, str] | None = None,
    option_seed: int | None = None,
) -> list[QuestionField]:
    """Return the form's fields for one item, in the order of the protocol's questions.

    ``option_seed`` draws the order of the options, and so their digit keys (None: the protocol's order).
    """
    answered, errors = answered or {}, errors or {}
    parts = {part.name: part for part in protocol.parts(item)}
    fields = []
    shown: dict[str, Part] = {}
    for number, question in enumerate(protocol.questions, start=1):
        options = ordered(question.options_for(item), question, option_seed)
        rows = tuple(
            RowField(row, name, _option_fields(name, options, answered.get(name)), errors.get(name, ""))
            for row, name in ((row, field_name(question.key, row.key)) for row in question.rows_for(item))
        )
        fresh = [parts[name] for name in question.shows if name not in shown]
        known = [str(part.text) for part in shown.values()]
        above = tuple(PartField(part.name, part.label, _marked(str(part.text), known)) for part in fresh)
        untouched = question.is_static and not any(row.touched for row in rows)
        keys = [option.key for option in options]
        same = "-".join((protocol.name, protocol.version, question.key, *keys)) if untouched else ""
        fields.append(QuestionField(question, number, above, rows, same))
        shown |= {part.name: part for part in fresh}
    return fields


def form_context(
    protocol: Protocol,
    item: Any,
    *,
    answered: Mapping[str, str],
    errors: Mapping[str, str] | None = None,
    option_seed: int | None = None,
) -> dict[str, Any]:
    """Return what templates show of a form: ``story`` with its fields, and ``errors``: what is missing."""
    fields = question_fields(protocol, item, answered=answered, errors=errors, option_seed=option_seed)
    missing = [
        {"name": name, "label": protocol.question(name.split(".", 1)[0]).title, "text": text}
        for name, text in (errors or {}).items()
    ]
    return {"story": {"fields": fields}, "errors": missing}


def _marked(text: str, known: Iterable[str]) -> SafeString:
    """Mark a text around the longest one shown before, if that is a sentence of it, not a name."""
    old = max((shown for shown in known if shown in text), key=len, default="")
    if len(old) < max(SHORTEST_SENTENCE, len(text) / 4) or old == text:
        return escape(text)
    before, _, after = text.partition(old)
    joint = after[: len(after) - len(after.lstrip(" .,;:!?"))]
    fresh = "<mark>{}</mark>"
    pieces = ((fresh, before), ("{}", old + joint), (fresh, after.removeprefix(joint)))
    return format_html(
        "".join(form for form, piece in pieces if piece), *(piece for _, piece in pieces if piece)
    )


def _option_fields(name: str, options: tuple[Option, ...], chosen: str | None) -> tuple[OptionField, ...]:
    return tuple(
        OptionField(option, f"{name}-{option.key}", str(number), chosen == option.key)
        for number, option in enumerate(options, start=1)
    )


def instructions_context(protocol: Protocol, own: InstructionText | None = None) -> dict[str, Any]:
    """Return the study's own instructions, or the protocol's, with their examples by question."""
    instructions: Instructions = own.as_instructions() if own else protocol.instructions
    examples: dict[str, list[dict[str, Any]]] = {question.key: [] for question in protocol.questions}
    for one in instructions.examples:
        if one.question not in examples:
            continue  # the protocol has changed since it was written
        own_words = Option(one.option, one.answer) if one.answer else None
        option = own_words or protocol.question(one.question).option(one.option)
        shown = {"option": option, "parts": one.parts, "justification": one.justification}
        examples[one.question].append(shown)
    return {
        "instructions": instructions,
        "instructions_id": own.pk if own else 0,
        "examples_by_question": [
            {"question": question, "examples": examples[question.key]} for question in protocol.questions
        ],
    }
