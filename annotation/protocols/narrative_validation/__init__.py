"""The narrative-validation protocol: a narrative with several questions, answered whole on one page.

It follows the validation of OpenToM (Xu et al.): a person answers all questions of a narrative, each with two
or three options, and agreement is the mean macro-F1 of every two people. The wording and the examples are our
own.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from textwrap import shorten
from typing import Any, ClassVar

from annotation.importing.problems import Problem
from annotation.importing.rows import SourceRow, StoryRow
from annotation.protocols.base import (
    KEY_PATTERN,
    Option,
    Part,
    Procedure,
    Protocol,
    Question,
    Row,
    Scored,
    Words,
    _,
)
from annotation.protocols.multiple_choice.item import key_of, read_choices
from annotation.protocols.narrative_validation.instructions import INSTRUCTIONS
from annotation.protocols.validity.fields import MAX_NAME, MAX_QUESTION, Fields, read_each
from annotation.protocols.validity.wording import part

QUESTION = "answer"
"""The key of the only question; its rows are the questions of a narrative."""
SUMMARY = 200
"""Characters by which annotators recognise a narrative."""
MAX_NARRATIVE = 10_000
MOST_QUESTIONS = 25
FIELDS = frozenset(("story_id", "core_id", "group", "source", "narrative", "questions"))
ASKED = ("id", "kind", "question", "choices")
"""Fields of a question; ``kind`` is what it asks for, and ``answerKey`` may be missing."""
_FORM = 'Write [{"id": "q1", "kind": "…", "question": "…", "choices": {"text": […], "label": […]}}].'


@dataclass(frozen=True, slots=True)
class Narrative:
    """A narrative as annotators see it, its questions as rows. Right answers are deliberately not here."""

    text: str
    rows: tuple[Row, ...]


def parse(content: Mapping[str, Any]) -> Narrative:
    """Parse a stored ``content``. Raise ``ValueError`` naming the wrong field."""
    text, questions = content.get("narrative"), content.get("questions")
    if not isinstance(text, str) or not text:
        raise ValueError("narrative: must be a text that is not empty.")
    if not isinstance(questions, list) or not 1 <= len(questions) <= MOST_QUESTIONS:
        raise ValueError(f"questions: must be a list of 1 to {MOST_QUESTIONS} questions.")
    rows = tuple(_row(f"questions[{place}]", one) for place, one in enumerate(questions))
    if len({row.key for row in rows}) < len(rows):
        raise ValueError("questions: two of them have the same id.")
    return Narrative(text, rows)


def _row(where: str, asked: Any) -> Row:
    if not isinstance(asked, Mapping) or {*asked} - {"answerKey"} != {*ASKED}:
        raise ValueError(f"{where}: has {', '.join(ASKED)} and, if it is known, answerKey.")
    for name in ("id", "kind", "question"):
        if not isinstance(asked[name], str) or not asked[name].strip():
            raise ValueError(f"{where}.{name}: must be a text that is not empty.")
    if not re.match(KEY_PATTERN, asked["id"]):
        raise ValueError(f"{where}.id: must have 1 to 40 lower-case letters, digits, “_” and “-”.")
    try:
        choices = read_choices(asked["choices"])
    except ValueError as error:
        raise ValueError(f"{where}.{error}") from error
    if asked.get("answerKey") not in [None, *(choice.label for choice in choices)]:
        raise ValueError(f"{where}.answerKey: must be the label of one of the choices.")
    options = tuple(Option(choice.key, choice.text) for choice in choices)
    return Row(asked["id"], asked["question"], options)


def read(rows: Iterable[SourceRow]) -> Iterator[StoryRow | Problem]:
    """Yield a narrative per row with :data:`FIELDS`; ``core_id``, ``group``, ``source`` may be missing."""
    return read_each(rows, FIELDS, _read)


def _read(fields: Fields) -> StoryRow:
    story_id = fields.identifier("story_id")
    item = StoryRow(
        fields.row.file,
        fields.row.line,
        story_id,
        fields.optional_text("core_id", MAX_NAME) or story_id,
        fields.optional_text("group", MAX_NAME) or "narratives",
        story_prompt_example="",
        severity_original=None,
        story_generator_model=fields.optional_text("source", MAX_NAME),
        content={"narrative": _narrative(fields), "questions": fields.structure("questions")},
    )
    if not fields.failed:
        _check_questions(fields, item.content)
    return item


def _narrative(fields: Fields) -> str:
    """Return the narrative with a blank line between paragraphs; other texts have no lines."""
    value = fields.data.get("narrative")
    if not isinstance(value, str) or len(value) > MAX_NARRATIVE:
        return fields.text("narrative", MAX_NARRATIVE)
    paragraphs = [line for line in value.splitlines() if line.strip()] or [""]
    return "\n\n".join(fields.check("narrative", line, MAX_NARRATIVE) for line in paragraphs)


def _check_questions(fields: Fields, content: Mapping[str, Any]) -> None:
    try:
        parse(content)
    except ValueError as error:
        field, _colon, message = str(error).partition(": ")
        fields.refuse(field, message[:1].upper() + message[1:], _FORM)
        return
    for asked in content["questions"]:
        for text in (asked["kind"], asked["question"], *asked["choices"]["text"]):
            fields.check("questions", text, MAX_QUESTION)


class NarrativeQuestions(Question):
    """All questions about a narrative, as rows with options of their own. None counts against it."""

    def options_for(self, item: Narrative) -> tuple[Option, ...]:
        """Return the options of all rows."""
        return tuple(option for row in item.rows for option in row.options)

    def rows_for(self, item: Narrative) -> tuple[Row, ...]:
        return item.rows


class NarrativeValidation(Protocol):
    """The questions of one narrative on one page. Every narrative with all its votes is kept."""

    name = "narrative-validation"
    version = "1"
    title = _("Questions about narratives")
    questions = (
        NarrativeQuestions(
            key=QUESTION,
            title=_("Your answers"),
            text=_("Answer every question, from the story alone."),
            options=(),
            shows=("story",),
            option_order="free",
        ),
    )
    instructions = INSTRUCTIONS
    example = Path(__file__).with_name("example.jsonl").read_text(encoding="utf-8")
    columns: ClassVar[Mapping[str, str]] = {"group": "scenario_name", "source": "story_generator_model"}
    resolution = "mean"
    words = Words(_("story"), _("stories, each with several questions"))
    follows = Procedure(
        "Xu et al., OpenToM: A Comprehensive Benchmark for Evaluating Theory-of-Mind Reasoning Capabilities "
        "of Large Language Models",
        votes=3,
    )
    scored = QUESTION
    statistics = ("pairwise_f1", "accuracy")
    parse = staticmethod(parse)
    read = staticmethod(read)

    def parts(self, item: Narrative) -> tuple[Part, ...]:
        """Return the narrative."""
        return (part("story", item.text),)

    def summary(self, item: Narrative) -> tuple[Part, ...]:
        """Return the beginning of the narrative."""
        return (part("story", shorten(item.text, SUMMARY, placeholder="…")),)

    def scored_rows(self, content: Mapping[str, Any]) -> tuple[Scored, ...]:
        """Return the questions; the right answer of one may be unknown."""
        return tuple(
            Scored(one["id"], key_of(one.get("answerKey") or ""), len(one["choices"]["label"]), one["kind"])
            for one in content["questions"]
        )

    def text_for_duplicates(self, story: StoryRow) -> str:
        """Return the narrative in lower case."""
        return str(story.content["narrative"]).lower()


PROTOCOL = NarrativeValidation()
