"""The narrative-validation protocol: a narrative with several questions, answered whole on one page.

It follows the validation of OpenToM (Xu et al.): a person answers all questions of a narrative, each with two
or three options, and agreement is the mean macro-F1 of every two people. The wording and the examples are our
own.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from annotation.importing.rows import StoryRow
from annotation.protocols.base import Procedure, Scored, Words, part, read_text
from annotation.protocols.fields import MAX_QUESTION, Fields
from annotation.protocols.instructions import in_template
from annotation.protocols.multiple_choice import key_of, read_choices
from annotation.protocols.questions import Option, Row, _
from annotation.protocols.tables import Table, TableProtocol, TableQuestion, read_entries

QUESTION = "answer"
"""The key of the only question; its rows are the questions of a narrative."""
MOST_QUESTIONS = 25
OPENTOM = (
    "Xu et al., OpenToM: A Comprehensive Benchmark for Evaluating Theory-of-Mind Reasoning Capabilities of "
    "Large Language Models"
)


class NarrativeQuestions(TableQuestion):
    """All questions about a narrative, as rows with options of their own. None counts against it."""

    def options_for(self, item: Table) -> tuple[Option, ...]:
        """Return the options of all rows."""
        return tuple(option for row in item.rows for option in row.options)


class NarrativeProtocol(TableProtocol):
    """A protocol whose item is a narrative with questions. Right answers are not in what annotators see."""

    columns: ClassVar[Mapping[str, str]] = {"group": "scenario_name", "source": "story_generator_model"}
    text = "narrative"
    group = "narratives"
    tables: ClassVar[Mapping[str, Mapping[str, int]]] = {
        "questions": {"kind": MAX_QUESTION, "question": MAX_QUESTION}
    }
    remedy = 'Write [{"id": "q1", "kind": "…", "question": "…", "choices": {"text": […], "label": […]}}].'

    def parse(self, content: Mapping[str, Any]) -> Table:
        texts = self.tables["questions"]
        asked = read_entries(
            content, "questions", texts, others=("choices",), optional=("answerKey",), most=MOST_QUESTIONS
        )
        rows = tuple(_row(f"questions[{place}]", one) for place, one in enumerate(asked))
        return Table((part("story", read_text(content, self.text)),), rows)

    def _read(self, fields: Fields) -> StoryRow:
        row = super()._read(fields)
        for asked in () if fields.failed else row.content["questions"]:
            for text in asked["choices"]["text"]:
                fields.check("questions.choices", text, MAX_QUESTION)
        return row


class NarrativeValidation(NarrativeProtocol):
    """The questions of one narrative on one page. Every narrative with all its votes is kept.

    ``kind`` is what a question asks for.
    """

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
    instructions = in_template("annotation/protocols/narrative_validation.txt")
    resolution = "mean"
    words = Words(_("story"), _("stories, each with several questions"))
    follows = Procedure(OPENTOM, votes=3)
    scored = QUESTION
    statistics = ("pairwise_f1", "accuracy")

    def scored_rows(self, content: Mapping[str, Any]) -> tuple[Scored, ...]:
        """Return the questions; the right answer of one may be unknown."""
        return tuple(
            Scored(one["id"], key_of(one.get("answerKey") or ""), len(one["choices"]["label"]), one["kind"])
            for one in content["questions"]
        )


def _row(where: str, asked: Mapping[str, Any]) -> Row:
    try:
        choices = read_choices(asked["choices"])
    except ValueError as error:
        raise ValueError(f"{where}.{error}") from error
    if asked.get("answerKey") not in [None, *asked["choices"]["label"]]:
        raise ValueError(f"{where}.answerKey: must be the label of one of the choices.")
    return Row(asked["id"], asked["question"], choices)


PROTOCOL = NarrativeValidation()
