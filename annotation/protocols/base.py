"""The interface of a protocol: the form that annotators answer, and the facts about it that rules need.

A protocol is a pure value: it never reads the database, the request or the clock. docs/protocols.md tells
how to add one. All answers are stored alike: one per (question, row), with the key of an option, or words.
"""

import abc
import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

from annotation.importing.rows import IMPORTED, Problem, SourceRow, StoryRow
from annotation.protocols.questions import Choice, FormCell, OpenTable, Question, Text, _


@dataclass(frozen=True, slots=True)
class Part:
    """A named part of an item as shown on the screen, for example the key information."""

    name: str
    label: str
    text: str


PART_LABELS: dict[str, str] = {
    "person": _("Main character"),
    "key_information": _("Key information"),
    "story": _("Story"),
    "question": _("Question"),
    "questions": _("Questions"),
    "action_a": _("Action A"),
    "action_b": _("Action B"),
    "answer_a": _("Answer A"),
    "answer_b": _("Answer B"),
    "choices": _("Answers to choose from"),
    "belief": _("Belief"),
    "table_a": _("Table A"),
    "table_b": _("Table B"),
    "row": _("Row"),
}
"""The parts by name, in reading order; some are in worked examples only."""


def part(name: str, text: str) -> Part:
    """Return a part with its label. Raise ``KeyError`` for an unknown name."""
    return Part(name=name, label=PART_LABELS[name], text=text)


def read_text(content: Mapping[str, Any], name: str) -> str:
    """Return a text of a stored ``content``. Raise ``ValueError`` if it is missing or empty."""
    text = content.get(name)
    if not isinstance(text, str) or not text:
        raise ValueError(f"{name}: must be a text that is not empty.")
    return text


class IncompleteForm(Exception):
    """The form does not answer every question with one of its options. ``errors`` by form field."""

    def __init__(self, errors: Mapping[str, str]) -> None:
        self.errors = dict(errors)
        super().__init__("; ".join(f"{name}: {text}" for name, text in self.errors.items()))


@dataclass(frozen=True, slots=True)
class Finding:
    """A lint warning about an item: kept with the story for researchers, never a refusal."""

    code: str
    field: str
    message: str


DUPLICATES = {
    "same_text": _("the same as another story"),
    "near_duplicate": _("nearly the same as another story"),
}
"""Labels of the warnings that an import gives by itself, whatever the protocol."""


@dataclass(frozen=True, slots=True)
class WorkedExample:
    """An option of a question, shown on an item, with the reason why it is the right answer.

    ``answer`` is the option in words, for a question whose options are the item's own.
    """

    question: str
    option: str
    parts: tuple[Part, ...]
    justification: str
    answer: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """A titled section of the instructions; each paragraph is plain text."""

    title: str
    paragraphs: tuple[str, ...]


@dataclass(frozen=True)
class Instructions:
    """A short page and worked examples, which annotators read first and can open beside every item."""

    sections: tuple[Section, ...]
    examples: tuple[WorkedExample, ...]


@dataclass(frozen=True, slots=True)
class Words:
    """A protocol's names for its items, for pages that everybody sees."""

    one: str
    introduction: str
    """The items in words that introduce them to newcomers: “two-sentence stories”."""


STORIES = Words(_("story"), _("short stories"))


@dataclass(frozen=True, slots=True)
class Procedure:
    """The published procedure that a protocol follows, in English for cards."""

    reference: str
    votes: int
    """Answers per item."""
    passed: tuple[int, int] | None = None
    """The people who passed its qualification test, and those who took it."""


Layout = Literal["items", "theory-of-mind"]
"""The files and columns of a release: items as imported, or stories with the question sets made from them."""


Resolution = Literal["filter", "mean", "majority", "reconciled"]
"""The way from several people's answers to one decision: a filter that researchers choose keeps or drops
the item; or every item with all its answers is released, with their means or shares of right answers, or with
the answer of more than half of the people to each question, or with the table that experts made of the rows
that people listed (:mod:`annotation.reconciling`)."""


Statistic = Literal[
    "accuracy", "pairwise_f1", "strict_agreement", "suggestions", "match_count", "contrasts", "extraction"
]
"""A statistic of the answers to scored rows, by its key in statistics.json."""


class Scored(NamedTuple):
    """A row of a question that statistics are about."""

    row: str
    right: str
    """The key of the right or suggested option; empty if there is none."""
    options: int
    """The number of options offered."""
    kind: str
    """The kind of question, by which statistics are reported: a condition, or what is asked."""
    question: str = ""
    """The key of its question; empty: :attr:`Protocol.scored`."""
    table: str = ""
    """The table that the row is in, where an item has several."""


class Protocol(abc.ABC):
    """A form with its rule, and everything else that depends on the kind of judgement.

    Subclasses set the class attributes and the abstract methods; no other code tests for a protocol's name.

    ``version`` changes whenever a question, an option, the instructions or the rule changes; every
    vote records the version it was given under.
    """

    name: ClassVar[str]
    version: ClassVar[str]
    title: ClassVar[str]
    questions: ClassVar[tuple[Question, ...]]
    instructions: ClassVar[Instructions]
    finding_labels: ClassVar[Mapping[str, str]] = {}
    """Labels of lint codes for researchers; a code without a label is shown itself."""
    columns: ClassVar[Mapping[str, str]] = {}
    """The stored column of each column of import files that has another name there."""
    headerless: ClassVar[tuple[str, ...]] = ()
    """The columns of CSV files without a header, in order; empty: every CSV file has one."""
    layout: ClassVar[Layout] = "items"
    resolution: ClassVar[Resolution] = "filter"
    words: ClassVar[Words] = STORIES
    follows: ClassVar[Procedure | None] = None
    scored: ClassVar[str] = ""
    """The key of the question whose right answers an item holds (:meth:`scored_rows`), if there is one."""
    statistics: ClassVar[tuple[Statistic, ...]] = ()
    """The statistics of :meth:`scored_rows` in releases. Questions without options have no other ones."""
    by_row: ClassVar[Question | None] = None
    """The heading of a form that asks row by row: every question about a row as a list of its options."""
    open_table: ClassVar[OpenTable | None] = None
    """The table to which people add rows, all of whose cells are the form. Its heading is :attr:`by_row`."""
    revisable: ClassVar[tuple[str, ...]] = ()
    """The texts of an item that researchers may revise, by the keys of its content. Import files have them as
    columns, beside ``story_id`` and ``core_id``, and a filter drops the old versions."""

    @abc.abstractmethod
    def parse(self, content: Mapping[str, Any]) -> Any:
        """Parse a story's ``content`` into a typed item. Raise ``ValueError`` naming the wrong field."""

    @abc.abstractmethod
    def parts(self, item: Any) -> tuple[Part, ...]:
        """Return the item's parts in reading order."""

    @abc.abstractmethod
    def read(self, rows: Iterable[SourceRow]) -> Iterator[StoryRow | Problem]:
        """Yield stories, or their problems, from the rows of an import file."""

    def source_row(self, story: StoryRow) -> dict[str, Any]:
        """Return the import row from which :meth:`read` makes this story again."""
        own = {stored: name for name, stored in self.columns.items()}
        known = {own.get(name, name): getattr(story, name) for name in IMPORTED if name != "content"}
        row = {
            name: list(value) if isinstance(value, tuple) else value for name, value in known.items() if value
        }
        return {**row, **story.content}

    def scored_rows(self, content: Mapping[str, Any]) -> Sequence[Scored]:
        """Return the rows that statistics are about. Never show their right options to annotators."""
        return ()

    def suggested(self, item: Any) -> Mapping[str, str]:
        """Return the options that are chosen when an annotator first sees the form, by field."""
        return {}

    def summary(self, item: Any) -> tuple[Part, ...]:
        """Return the parts by which annotators recognise an item; by default the first two."""
        return self.parts(item)[:2]

    def lint(self, story: StoryRow) -> Sequence[Finding]:
        """Return warnings about a story."""
        return ()

    def text_for_duplicates(self, story: StoryRow) -> str:
        """Return the text to compare for near-duplicates between stories of different cores."""
        return str(story.content.get("story", ""))

    @cached_property
    def example(self) -> str:
        """The ``example.csv`` or ``example.jsonl`` beside the module, which shows researchers an import."""
        beside = Path(inspect.getfile(type(self))).with_name("example")
        files = (file for suffix in (".csv", ".jsonl") if (file := beside.with_suffix(suffix)).is_file())
        return next((file.read_text(encoding="utf-8") for file in files), "")

    @property
    def headings(self) -> tuple[Question, ...]:
        """The questions under which the form shows parts of the item, in order."""
        return (self.by_row,) if self.by_row else self.questions

    def question(self, key: str) -> Question:
        """Return the question with this key. Raise ``KeyError`` if unknown."""
        return {question.key: question for question in self.questions}[key]

    def cells(self, item: Any) -> Iterator[FormCell]:
        """Yield everything that is asked about an item, in the order of the form."""
        for number, question in enumerate(self.questions, start=1):
            options = question.options_for(item)
            for row in question.rows_for(item):
                yield FormCell(number, question, row, row.options or options)

    @cached_property
    def written(self) -> frozenset[str]:
        """The keys of the questions that are answered in words."""
        return frozenset(question.key for question in self.questions if isinstance(question, Text))

    @cached_property
    def chosen(self) -> tuple[Question, ...]:
        """The questions that are answered with an option."""
        return tuple(question for question in self.questions if question.key not in self.written)

    def counts_against(self, item: Any, choice: Choice) -> bool:
        """Return True if this answer alone drops the item; words never do.

        Raise ``KeyError`` for an option that the question does not offer for the item.
        """
        if choice.question in self.written:
            return False
        offered = {option.key: option for option in self.question(choice.question).options_for(item)}
        return offered[choice.option].counts_against

    def read_form(self, item: Any, submitted: Mapping[str, str]) -> tuple[Choice, ...]:
        """Read a submitted form's answers, in the order of the questions.

        Raise :class:`IncompleteForm` naming every field that is missing or not an option.
        """
        given: dict[tuple[str, str], str] = {}
        wrong: dict[tuple[str, str], str] = {}
        asked: list[FormCell] = []
        for cell in self.cells(item):
            if not cell.is_asked(given):
                continue
            asked.append(cell)
            try:
                given[cell.key] = cell.question.read(submitted.get(cell.field, ""), cell.options)
            except ValueError as error:
                wrong[cell.key] = str(error)
        unused = self._unused(given)
        choices: list[Choice] = []
        errors: dict[str, str] = {}
        for cell in asked:
            if cell.key in wrong:
                errors[cell.field] = wrong[cell.key]
            elif given[cell.key]:
                choices.append(Choice(*cell.key, given[cell.key]))
            elif not cell.question.optional and cell.row.key not in unused:
                errors[cell.field] = str(cell.question.missing)
        if errors:
            raise IncompleteForm(errors)
        return tuple(choices)

    def _unused(self, given: Mapping[tuple[str, str], str]) -> frozenset[str]:
        """Return the rows of the open table that may be empty, and are."""
        if self.open_table is None:
            return frozenset()
        begun = {row for (_question, row), value in given.items() if value}
        empty = [row.key for row in self.open_table.rows if row.key not in begun]
        return frozenset(empty[max(0, self.open_table.least - len(begun)) :])
