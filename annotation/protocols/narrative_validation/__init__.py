"""The narrative-validation protocol: a narrative with several questions, answered whole on one page.

It follows the validation of OpenToM (Xu et al.): a person answers all questions of a narrative, each with two
or three options, and agreement is the mean macro-F1 of every two people. The wording and the examples are our
own.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from textwrap import shorten
from typing import Any, ClassVar

from annotation.importing.problems import Problem
from annotation.importing.rows import SourceRow, StoryRow
from annotation.protocols.base import Option, Part, Procedure, Protocol, Question, Row, Scored, Words, _
from annotation.protocols.multiple_choice.item import key_of, read_choices
from annotation.protocols.narrative_validation.instructions import INSTRUCTIONS
from annotation.protocols.tables import MAX_TEXT, read_entries, read_text
from annotation.protocols.validity.fields import MAX_NAME, MAX_QUESTION, Fields, read_each
from annotation.protocols.validity.wording import part

QUESTION = "answer"
"""The key of the only question; its rows are the questions of a narrative."""
SUMMARY = 200
"""Characters by which annotators recognise a narrative."""
MOST_QUESTIONS = 25
FIELDS = frozenset(("story_id", "core_id", "group", "source", "narrative", "questions"))
ASKED = ("kind", "question")
"""Texts of a question; ``kind`` is what it asks for."""
_FORM = 'Write [{"id": "q1", "kind": "…", "question": "…", "choices": {"text": […], "label": […]}}].'


@dataclass(frozen=True, slots=True)
class Narrative:
    """A narrative as annotators see it, its questions as rows. Right answers are deliberately not here."""

    text: str
    rows: tuple[Row, ...]


def parse(content: Mapping[str, Any]) -> Narrative:
    """Parse a stored ``content``. Raise ``ValueError`` naming the wrong field."""
    asked = read_entries(
        content, "questions", ASKED, others=("choices",), optional=("answerKey",), most=MOST_QUESTIONS
    )
    rows = tuple(_row(f"questions[{place}]", one) for place, one in enumerate(asked))
    return Narrative(read_text(content, "narrative"), rows)


def _row(where: str, asked: Mapping[str, Any]) -> Row:
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
        content={
            "narrative": fields.paragraphs("narrative", MAX_TEXT),
            "questions": fields.structure("questions"),
        },
    )
    if not fields.failed and fields.check_content(parse, item.content, _FORM):
        for asked in item.content["questions"]:
            for text in (asked["kind"], asked["question"], *asked["choices"]["text"]):
                fields.check("questions", text, MAX_QUESTION)
    return item


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
