"""What a protocol is: the form people answer, and the facts about it that rules need.

Everything here is a pure value. A protocol never reads the database, the request or the clock, so
the same object serves the browser, the grading of a qualification round, the filter and the tests.

A second protocol is one more module (or package) in ``annotation/protocols/`` with a ``PROTOCOL``
in it; nothing else changes. Its questions may be

* single choice with options of their own for every question (the validity protocol),
* a rating scale (options whose keys are ``"1"`` … ``"5"``),
* multiple choice whose options depend on the item (override :meth:`Question.options_for`),
* a table of rows to label, one option per row (override :meth:`Question.rows_for`).

All of them are stored alike: one answer per (question, row), holding the key of one option.
"""

from __future__ import annotations

import abc
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from django.utils.translation import gettext as _

from annotation.importing.problems import Problem
from annotation.importing.rows import SourceRow, StoryRow

KEY_PATTERN = r"^[a-z0-9][a-z0-9_-]{0,39}$"
"""Keys of questions, rows and options: short, lower case, safe in HTML ids and CSV headers."""


@dataclass(frozen=True, slots=True)
class Option:
    """One answer a person can give to a question."""

    key: str
    label: str
    hint: str = ""
    counts_against: bool = False
    """True when this answer alone keeps the story out of the validated set."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a table to label. A question without a table has the single row ``Row("")``."""

    key: str
    label: str = ""


SINGLE_ROW = (Row(""),)


@dataclass(frozen=True, slots=True)
class Part:
    """A named piece of an item as shown on the screen, for example the key information."""

    name: str
    label: str
    text: str


@dataclass(frozen=True)
class Question:
    """One question of the form, and the parts of the item it is asked about."""

    key: str
    title: str
    text: str
    options: tuple[Option, ...]
    shows: tuple[str, ...] = ()
    help: str = ""

    def options_for(self, item: Any) -> tuple[Option, ...]:
        """The options offered for this item; the same for every item unless overridden."""
        return self.options

    def rows_for(self, item: Any) -> tuple[Row, ...]:
        """The rows to label for this item; one unnamed row unless overridden."""
        return SINGLE_ROW

    @property
    def is_static(self) -> bool:
        """Whether the options and rows are the same for every item."""
        kind = type(self)
        return kind.options_for is Question.options_for and kind.rows_for is Question.rows_for

    def option(self, key: str) -> Option:
        """The static option with this key. Raises ``KeyError`` for an unknown one."""
        for option in self.options:
            if option.key == key:
                return option
        raise KeyError(key)


class Choice(NamedTuple):
    """One answer: the option chosen for one row of one question."""

    question: str
    row: str
    option: str


def field_name(question: str, row: str = "") -> str:
    """The name of the form field for a question (and row): ``q1`` or ``labels.belief-3``."""
    return f"{question}.{row}" if row else question


class IncompleteForm(Exception):
    """A submitted form that does not answer every question with one of its options.

    ``errors`` maps form field names to a sentence for the person who has to mend it.
    """

    def __init__(self, errors: Mapping[str, str]) -> None:
        self.errors = dict(errors)
        super().__init__("; ".join(f"{name}: {text}" for name, text in self.errors.items()))


@dataclass(frozen=True, slots=True)
class Finding:
    """A lint warning about an item: kept with the story for researchers, never a refusal."""

    code: str
    field: str
    message: str


@dataclass(frozen=True, slots=True)
class WorkedExample:
    """One option of one question, shown on an item, with the reason it is the right answer.

    ``answer`` is the option in words, for a question whose options are the item's own.
    """

    question: str
    option: str
    parts: tuple[Part, ...]
    justification: str
    answer: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """A titled piece of the instructions; each paragraph is plain text."""

    title: str
    paragraphs: tuple[str, ...]


@dataclass(frozen=True)
class Instructions:
    """What people read before they start, and can open again beside every item."""

    motivation: Section
    item: Section
    advice: Section
    examples: tuple[WorkedExample, ...]


class Protocol(abc.ABC):
    """A form with its rule. Subclasses set the class attributes and the abstract methods.

    ``version`` changes whenever a question, an option, the instructions or the rule changes; every
    vote records the version it was given under.
    """

    name: ClassVar[str]
    version: ClassVar[str]
    title: ClassVar[str]
    questions: ClassVar[tuple[Question, ...]]
    instructions: ClassVar[Instructions]
    finding_labels: ClassVar[Mapping[str, str]] = {}
    """What researchers read for the codes of lint warnings; a code without a label stands for itself."""

    @abc.abstractmethod
    def parse(self, content: Mapping[str, Any]) -> Any:
        """The typed item in a story's ``content``. Raises ``ValueError`` for content that is not one."""

    @abc.abstractmethod
    def parts(self, item: Any) -> tuple[Part, ...]:
        """What can be shown of the item, in reading order."""

    @abc.abstractmethod
    def read(self, rows: Iterable[SourceRow]) -> Iterator[StoryRow | Problem]:
        """Stories (or what is wrong with them) from the rows of an import file, as a stream."""

    def source_row(self, story: StoryRow) -> dict[str, Any]:
        """The row of an import file from which :meth:`read` makes this story again."""
        row = {
            "story_id": story.story_id,
            "core_id": story.core_id,
            "scenario_name": story.scenario_name,
            "story_prompt_example": story.story_prompt_example or None,
            "severity_original": story.severity_original,
            "story_generator_model": story.story_generator_model,
            **story.content,
        }
        for name in ("harmfulness_predicted", "unethicality_predicted"):
            if getattr(story, name):
                row[name] = list(getattr(story, name))
        return row

    def summary(self, item: Any) -> tuple[Part, ...]:
        """The parts by which a person recognises an item they answered; the first two unless overridden."""
        return self.parts(item)[:2]

    def lint(self, story: StoryRow) -> Sequence[Finding]:
        """Warnings about one story."""
        return ()

    def text_for_duplicates(self, story: StoryRow) -> str:
        """The text in which two stories of different cores should not resemble each other."""
        return str(story.content.get("story", ""))

    def question(self, key: str) -> Question:
        """The question with this key. Raises ``KeyError`` for an unknown one."""
        for question in self.questions:
            if question.key == key:
                return question
        raise KeyError(key)

    def counts_against(self, item: Any, choice: Choice) -> bool:
        """Whether this one answer about this item keeps it out of the validated set.

        Raises ``KeyError`` for an option that the question does not offer for the item.
        """
        offered = {option.key: option for option in self.question(choice.question).options_for(item)}
        return offered[choice.option].counts_against

    def read_form(self, item: Any, submitted: Mapping[str, str]) -> tuple[Choice, ...]:
        """The complete answers in a submitted form, in the order of the questions.

        Raises :class:`IncompleteForm` naming every field that is missing or not an option.
        """
        choices: list[Choice] = []
        errors: dict[str, str] = {}
        for question in self.questions:
            allowed = {option.key for option in question.options_for(item)}
            for row in question.rows_for(item):
                name = field_name(question.key, row.key)
                value = submitted.get(name, "")
                if value in allowed:
                    choices.append(Choice(question.key, row.key, value))
                elif value:
                    errors[name] = _("“%(value)s” is not one of the answers to this question.") % {
                        "value": value[:40]
                    }
                else:
                    errors[name] = _("Please choose an answer.")
        if errors:
            raise IncompleteForm(errors)
        return tuple(choices)
