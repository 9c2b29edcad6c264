"""Prepare a protocol's questions for templates, with the answers so far."""

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from string import digits
from typing import Any

from django.template.loader import render_to_string
from django.utils.html import escape, format_html
from django.utils.safestring import SafeString
from django.utils.translation import get_language, gettext

from annotation.models import InstructionText
from annotation.ordering import ordered
from annotation.protocols.base import Instructions, Part, Protocol
from annotation.protocols.questions import Option, Question, Row, SeveralOf, field_name
from tomannot.cache import local as cache

RENDERED_SECONDS = 3600
"""The lifetime of the rendered questions in the process's cache."""
_SLOT = re.compile("\ue000([^\ue001]*)\ue001")
"""Stands for the text of a part in rendered questions: two characters for private use around its name."""
LONG = 600
"""Characters that do not fit on a phone's screen together with a question."""
MANY_ROWS = 6
"""Rows of which the last does not fit on a screen together with the text."""
SHORTEST_SENTENCE = 20
"""Fewer characters than this are a name: finding them again in a part makes the rest of it no news."""


@dataclass(frozen=True, slots=True)
class OptionField:
    option: Option
    id: str
    key: str
    """The digit key that chooses this option; empty from the tenth on."""
    checked: bool


@dataclass(frozen=True, slots=True)
class RowField:
    row: Row
    name: str
    options: tuple[OptionField, ...]
    error: str
    suggested: str = ""
    """The option that the item suggests, where the form comes with other answers."""
    given: str = ""
    """The answer so far: the key of an option, or words."""

    @property
    def are_numbers(self) -> bool:
        """Return True if all options are digits, which stand side by side as on a scale."""
        return {option.option.key for option in self.options} <= set(digits)

    @property
    def chosen(self) -> bool:
        """Return True if one of the options is chosen."""
        return any(option.checked for option in self.options)


@dataclass(frozen=True, slots=True)
class RowGroup:
    """A row of the item with all questions about it, in a form that asks row by row."""

    row: Row
    cells: tuple[tuple[Question, RowField], ...]
    is_open: bool
    """True if the person adds the row."""


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
    groups: tuple[RowGroup, ...] = ()
    """The rows of the item instead, if they are asked one by one."""
    only_after: str = ""
    """The answers after which the question is asked, in words."""

    @property
    def plain_rows(self) -> tuple[RowField, ...]:
        """Return the rows of which one answer each is asked for."""
        return () if isinstance(self.question, SeveralOf) else self.rows

    @property
    def is_needed(self) -> bool:
        """Return True if everybody must answer the question."""
        return not (self.question.optional or self.question.only_after)

    @property
    def after(self) -> str:
        """Return the earlier question and those answers to it after which this one is asked, in words."""
        question, options = self.question.only_after or ("", ())
        return " ".join((question, *options))

    @property
    def is_long(self) -> bool:
        """Return True if the parts are read in a frame of their own, which stays above the question."""
        is_long = sum(len(part.text) for part in self.parts) >= LONG
        return bool(self.parts) and (is_long or bool(self.groups) or len(self.rows) >= MANY_ROWS)

    @property
    def described_by(self) -> str:
        """Return the ids of the parts that the question is about, for screen readers; none of long ones."""
        return "" if self.is_long else " ".join(f"part-{name}" for name in self.question.shows)


def question_fields(
    protocol: Protocol,
    item: Any,
    *,
    answered: Mapping[str, str] | None = None,
    errors: Mapping[str, str] | None = None,
    option_seed: int | None = None,
) -> list[QuestionField]:
    """Return the form's fields for one item, in the order of the protocol's questions.

    ``answered`` are the answers so far (None: those that the item suggests). ``option_seed`` draws the order
    of the options, and so their digit keys (None: the protocol's order).
    """
    suggested = protocol.suggested(item) if answered is not None else {}
    answered, errors = protocol.suggested(item) if answered is None else answered, errors or {}
    fields = []
    above = _parts_above(protocol.questions, protocol.parts(item))
    for number, (question, parts) in enumerate(above, start=1):
        options = ordered(question.options_for(item), question, option_seed)
        rows = []
        for row in question.rows_for(item):
            name, offered = field_name(question.key, row.key), options
            if row.options:
                offered = ordered(row.options, question, option_seed)
            given = answered.get(name, "")
            answers = _option_fields(name, offered, given)
            rows.append(RowField(row, name, answers, errors.get(name, ""), suggested.get(name, ""), given))
        after = _after(protocol, question)
        fields.append(QuestionField(question, number, parts, tuple(rows), only_after=after))
    heading = protocol.by_row
    if heading is None:
        return fields
    return [_by_row(heading, protocol.parts(item), fields, is_open=protocol.open_table is not None)]


def _after(protocol: Protocol, question: Question) -> str:
    """Return the answers after which a question is asked in words, or ""."""
    if question.only_after is None:
        return ""
    earlier, options = protocol.question(question.only_after[0]), question.only_after[1]
    answers = [str(option.label) for option in earlier.options if option.key in options]
    text = gettext("Only after “%(answers)s” to “%(question)s”.")
    return text % {"answers": "”, “".join(answers), "question": earlier.title}


def _by_row(
    heading: Question, item_parts: tuple[Part, ...], fields: list[QuestionField], *, is_open: bool
) -> QuestionField:
    """Return one field with a group per row of the item, which holds the row of every question."""
    ((_, parts),) = _parts_above((heading,), item_parts)
    questions = [field.question for field in fields]
    groups = [
        RowGroup(cells[0].row, tuple(zip(questions, cells, strict=True)), is_open)
        for cells in zip(*(field.rows for field in fields), strict=True)
    ]
    return QuestionField(heading, 1, parts, (), tuple(groups))


def unanswered_questions(
    protocol: Protocol, item: Any, *, option_seed: int | None, story_language: str, explain: bool
) -> SafeString:
    """Render the questions of a story's page without answers; ``explain`` opens the explanations.

    Of questions that are the same for every story, only the texts above them are put in anew, because this
    is the busiest page.
    """
    parts = [part for _, above in _parts_above(protocol.questions, protocol.parts(item)) for part in above]
    static = all(question.is_static for question in protocol.questions)
    shown = {"explain": explain, "study": {"story_language": story_language}, "links_examples": True}
    if not static:
        return _rendered(question_fields(protocol, item, option_seed=option_seed), shown)
    options = [ordered(question.options, question, option_seed) for question in protocol.questions]
    keys = [option.key for each in options for option in each]
    labels = [(part.name, str(part.label)) for part in parts]
    version = (protocol.name, protocol.version, get_language(), story_language, explain, keys, labels)
    cache_key = f"questions-{hashlib.sha256(repr(version).encode()).hexdigest()}"
    rendered = cache.get(cache_key)
    if rendered is None:
        fields = question_fields(protocol, item, option_seed=option_seed)
        slots = [
            replace(field, parts=tuple(replace(part, text=_slot(part.name)) for part in field.parts))
            for field in fields
        ]
        rendered = _rendered(slots, shown)
        cache.set(cache_key, rendered, RENDERED_SECONDS)
    texts = {part.name: part.text for part in parts}
    return SafeString(_SLOT.sub(lambda slot: texts[slot[1]], rendered))


def _rendered(fields: list[QuestionField], shown: dict[str, Any]) -> SafeString:
    return render_to_string("annotation/_questions.html", {"story": {"fields": fields}} | shown)


def _slot(part: str) -> SafeString:
    return SafeString(f"\ue000{part}\ue001")


def _parts_above(
    questions: Iterable[Question], item_parts: Iterable[Part]
) -> list[tuple[Question, tuple[PartField, ...]]]:
    """Return each question with the parts to show above it: those that no earlier question shows."""
    parts = {part.name: part for part in item_parts}
    shown: dict[str, str] = {}
    above = []
    for question in questions:
        fresh = {name: str(parts[name].text) for name in question.shows if name not in shown}
        fields = (
            PartField(name, parts[name].label, _marked(text, shown.values())) for name, text in fresh.items()
        )
        above.append((question, tuple(fields)))
        shown |= fresh
    return above


def form_context(
    protocol: Protocol,
    item: Any,
    *,
    answered: Mapping[str, str],
    errors: Mapping[str, str] | None = None,
    option_seed: int | None = None,
) -> dict[str, Any]:
    """Return what templates show of a form: ``story`` with its fields, and ``errors``: what is missing."""
    errors = errors or {}
    fields = question_fields(protocol, item, answered=answered, errors=errors, option_seed=option_seed)
    asked = [cell for cell in protocol.cells(item) if cell.field in errors]
    if protocol.by_row:
        rows = [row.key for row in protocol.questions[0].rows_for(item)]
        asked.sort(key=lambda cell: rows.index(cell.row.key))
    missing = [{"name": one.field, "label": one.title, "text": errors[one.field]} for one in asked]
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


def _option_fields(name: str, options: tuple[Option, ...], chosen: str) -> tuple[OptionField, ...]:
    are_digits = {option.key for option in options} <= set(digits)
    return tuple(
        OptionField(
            option,
            f"{name}-{option.key}",
            option.key if are_digits else digits[place : place + 1],
            chosen == option.key,
        )
        for place, option in enumerate(options, start=1)
    )


def instructions_context(protocol: Protocol, own: InstructionText | None) -> dict[str, Any]:
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
            {
                "question": question,
                "examples": examples[question.key],
                # Elsewhere they stand below the question.
                "meanings": [one for one in question.options if one.hint] if protocol.by_row else [],
            }
            for question in protocol.questions
        ],
    }
