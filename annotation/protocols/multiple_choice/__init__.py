"""The multiple-choice protocol: which of an item's own choices is the right answer?

It lets people answer the question sets of a release, so that their accuracy can stand beside a
model's (the human baseline of SimpleToM, Gu et al.). The right answer is part of what is stored of an
item and never of what is shown: :meth:`MultipleChoiceProtocol.parse` leaves it out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from annotation.importing.problems import Problem
from annotation.importing.rows import SourceRow, StoryRow
from annotation.protocols.base import Finding, Option, Part, Protocol, Question
from annotation.protocols.multiple_choice.instructions import INSTRUCTIONS
from annotation.protocols.multiple_choice.item import MultipleChoiceItem
from annotation.protocols.multiple_choice.item import parse as parse_content
from annotation.protocols.multiple_choice.lint import LABELS_OF_CODES
from annotation.protocols.multiple_choice.lint import lint as lint_item
from annotation.protocols.multiple_choice.lint import text_for_duplicates as item_words
from annotation.protocols.multiple_choice.reading import read as read_rows
from annotation.protocols.multiple_choice.wording import _, part

NAME = "multiple-choice"
QUESTION = "answer"
"""The key of the one question; votes carry the key of the choice under it."""


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
        ),
    )
    instructions = INSTRUCTIONS
    finding_labels = LABELS_OF_CODES

    def parse(self, content: Mapping[str, Any]) -> MultipleChoiceItem:
        """What people see of a stored ``content``. Raises ``ValueError`` for content that is not one."""
        return parse_content(content)

    def parts(self, item: MultipleChoiceItem) -> tuple[Part, ...]:
        """The story and the question about it."""
        return (part("story", item.story), part("question", item.question))

    def read(self, rows: Iterable[SourceRow]) -> Iterator[StoryRow | Problem]:
        """Items, or what is wrong with them, from the rows of a question set."""
        return read_rows(rows)

    def source_row(self, story: StoryRow) -> dict[str, Any]:
        """The row of a question set from which :meth:`read` makes this item again."""
        row = {
            "id": story.story_id,
            "core_id": story.core_id,
            "scenario_name": story.scenario_name,
            "severity_original": story.severity_original,
            "story_generator_model": story.story_generator_model or None,
            **story.content,
        }
        return {name: value for name, value in row.items() if value is not None}

    def lint(self, story: StoryRow) -> Sequence[Finding]:
        """Warnings about how the choices of one item are written."""
        return lint_item(story)

    def text_for_duplicates(self, story: StoryRow) -> str:
        """The words of the story; questions about one story have the same core and are not compared."""
        return item_words(story)


PROTOCOL = MultipleChoiceProtocol()
