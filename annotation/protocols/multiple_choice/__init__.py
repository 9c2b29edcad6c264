"""The multiple-choice protocol: which of an item's own choices is the right answer?

With it people answer the question sets of a release, so that their accuracy can be compared with a model's
(the human baseline of SimpleToM, Gu et al.). The right answer is stored with an item and never shown:
:func:`annotation.protocols.multiple_choice.item.parse` leaves it out.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from annotation.importing.rows import StoryRow
from annotation.protocols.base import Part, Protocol, Scored, Words, part
from annotation.protocols.instructions import in_template
from annotation.protocols.multiple_choice.item import (
    LABELS_OF_CODES,
    MultipleChoiceItem,
    lint as lint_item,
    parse as parse_content,
    read as read_rows,
    right_key,
    text_for_duplicates as item_words,
)
from annotation.protocols.questions import Option, Question, _

NAME = "multiple-choice"
QUESTION = "answer"
"""The key of the only question."""


class ChoiceQuestion(Question):
    """The one question of the form; its options are the item's choices. None counts against an item."""

    def options_for(self, item: MultipleChoiceItem) -> tuple[Option, ...]:
        return tuple(Option(choice.key, choice.text) for choice in item.choices)


class MultipleChoiceProtocol(Protocol):
    """One question with the item's own choices. Every item with all its votes is kept."""

    name = NAME
    version = "1"
    title = _("Multiple-choice questions")
    questions = (
        ChoiceQuestion(
            key=QUESTION,
            title=_("Your answer"),
            text=_("Which answer fits best? Go by what is likely, from the story alone."),
            options=(),
            shows=("story", "question"),
            option_order="free",
        ),
    )
    instructions = in_template("annotation/protocols/multiple_choice.txt")
    finding_labels = LABELS_OF_CODES
    example = Path(__file__).with_name("example.jsonl").read_text(encoding="utf-8")
    words = Words(_("question"), _("short stories, each with a question"))
    scored = QUESTION
    parse = staticmethod(parse_content)
    read = staticmethod(read_rows)
    lint = staticmethod(lint_item)
    text_for_duplicates = staticmethod(item_words)

    def parts(self, item: MultipleChoiceItem) -> tuple[Part, ...]:
        """Return the story and its question."""
        return (part("story", item.story), part("question", item.question))

    def scored_rows(self, content: Mapping[str, Any]) -> tuple[Scored, ...]:
        """Return the only row, of the kind that the question set names."""
        choices = content["choices"]["label"]
        return (Scored("", right_key(content), len(choices), content["config"]),)

    def source_row(self, story: StoryRow) -> dict[str, Any]:
        """Return the question set's row from which :meth:`read` makes this item again."""
        row = {
            "id": story.story_id,
            "core_id": story.core_id,
            "scenario_name": story.scenario_name,
            "severity_original": story.severity_original,
            "story_generator_model": story.story_generator_model or None,
            **story.content,
        }
        return {name: value for name, value in row.items() if value is not None}


PROTOCOL = MultipleChoiceProtocol()
