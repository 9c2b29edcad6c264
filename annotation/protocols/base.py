"""The interface of a protocol: the form that annotators answer, and the facts about it that rules need.

Everything here is a pure value. A protocol never reads the database, the request or the clock, so
the same object serves the browser, the grading of a qualification round, the filter and the tests.

A second protocol is one more module (or package) in ``annotation/protocols/`` with a ``PROTOCOL``
in it; nothing else changes. Its questions may be

* single choice with options of their own for every question (the validity protocol),
* a scale of whole numbers with words at both ends (:class:`Scale`),
* multiple choice whose options depend on the item (override :meth:`Question.options_for`),
* a table of rows to label, one option per row (override :meth:`Question.rows_for`), whose options may be
  the row's own,
* several of its options (:class:`SeveralOf`), and the person's own words (:class:`Text`),
* a table to which the person adds the rows (:class:`OpenTable`).

All of them are stored alike: one answer per (question, row), holding the key of one option, or words.
"""

import abc
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Literal, NamedTuple, cast

from django.utils.translation import gettext_lazy

from annotation.importing.rows import IMPORTED, Problem, SourceRow, StoryRow

# A lazy string behaves as a ``str`` wherever a page or a message shows it; saying so to the type checker
# once lets protocols use plain types.
_ = cast("Callable[[str], str]", gettext_lazy)

KEY_PATTERN = r"^[a-z0-9][a-z0-9_-]{0,39}\Z"
"""Keys of questions, rows and options: short, lower case, safe in HTML ids and CSV headers."""
LONGEST_WORDS = 1000
"""Characters of an answer in words."""
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")


@dataclass(frozen=True, slots=True)
class Option:
    """An answer that a question offers."""

    key: str
    label: str
    hint: str = ""
    counts_against: bool = False
    """True if this answer alone drops the story."""


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table to label. A question without a table has the single row ``Row("")``."""

    key: str
    label: str = ""
    options: tuple[Option, ...] = ()
    """Those of the question's options that the row offers; empty: all of them."""


SINGLE_ROW = (Row(""),)


@dataclass(frozen=True, slots=True)
class Part:
    """A named part of an item as shown on the screen, for example the key information."""

    name: str
    label: str
    text: str


@dataclass(frozen=True)
class Question:
    """A question of the form, and the parts of the item that it is about."""

    key: str
    title: str
    text: str
    options: tuple[Option, ...]
    shows: tuple[str, ...] = ()
    help: str = ""
    option_order: Literal["fixed", "scale", "free"] = "fixed"
    """Orders that a study may draw: none but this one, this one or its reverse, or any."""
    optional: bool = False
    """True if a form is complete without an answer."""
    only_after: tuple[str, Collection[str]] | None = None
    """Ask only those who chose one of these options of an earlier question with the same rows."""

    def options_for(self, item: Any) -> tuple[Option, ...]:
        """Return the options for this item; by default the same for every item."""
        return self.options

    def rows_for(self, item: Any) -> tuple[Row, ...]:
        """Return the rows to label for this item; by default one unnamed row."""
        return SINGLE_ROW

    @property
    def missing(self) -> str:
        """What to tell whoever left the question open."""
        return _("Please choose an answer.")

    @property
    def has_fixed_options(self) -> bool:
        """Return True if the options are the same for every item."""
        return type(self).options_for is Question.options_for

    @property
    def is_static(self) -> bool:
        """Return True if options and rows are the same for every item."""
        return self.has_fixed_options and type(self).rows_for is Question.rows_for

    def read(self, value: str, options: Collection[Option]) -> str:
        """Return a submitted value as it is stored. Raise ``ValueError`` if it is none of the options."""
        if value and all(value != option.key for option in options):
            told = _("“%(value)s” is not one of the answers to this question.")
            raise ValueError(told % {"value": value[:40]})
        return value

    def option(self, key: str) -> Option:
        """Return the static option with this key. Raise ``KeyError`` if unknown."""
        return {option.key: option for option in self.options}[key]


@dataclass(frozen=True)
class Scale(Question):
    """A question answered with a whole number, with words for both ends of the scale.

    The options follow: their keys are the numbers, each chosen by its digit. Raise ``ValueError`` unless
    0 <= ``low`` < ``high`` <= 9.
    """

    options: tuple[Option, ...] = field(init=False, default=())
    lowest: str = ""
    highest: str = ""
    low: int = 1
    high: int = 5

    def __post_init__(self) -> None:
        if not 0 <= self.low < self.high <= 9:
            raise ValueError(f"{self.key}: a scale goes from 0 or more up to 9 or less.")
        ends = {self.low: self.lowest, self.high: self.highest}
        numbers = range(self.low, self.high + 1)
        options = tuple(Option(str(number), str(number), ends.get(number, "")) for number in numbers)
        object.__setattr__(self, "options", options)


@dataclass(frozen=True)
class Text(Question):
    """A question answered in the person's own words, on one line of at most ``longest`` characters.

    Raise ``ValueError`` unless 1 <= ``longest`` <= 1,000.
    """

    options: tuple[Option, ...] = field(init=False, default=())
    longest: int = 300

    def __post_init__(self) -> None:
        if not 1 <= self.longest <= LONGEST_WORDS:
            raise ValueError(f"{self.key}: words have 1 to {LONGEST_WORDS} characters.")

    @property
    def missing(self) -> str:
        return _("Please write an answer.")

    def read(self, value: str, options: Collection[Option]) -> str:
        """Return the words with single spaces. Raise ``ValueError`` if they are too long."""
        words = " ".join(_CONTROL.sub(" ", value).split())
        if len(words) > self.longest:
            told = _("Please shorten this to %(longest)s characters; it has %(length)s.")
            raise ValueError(told % {"longest": self.longest, "length": len(words)})
        return words


@dataclass(frozen=True)
class SeveralOf(Question):
    """A question of which any number of options may be chosen: each is a row, answered with yes or no."""

    choices: tuple[Option, ...] = ()
    options: tuple[Option, ...] = field(init=False, default=(Option("yes", _("yes")), Option("no", _("no"))))

    def rows_for(self, item: Any) -> tuple[Row, ...]:
        """Return a row for each of the options."""
        return tuple(Row(option.key, option.label) for option in self.choices)

    def read(self, value: str, options: Collection[Option]) -> str:
        """Return the option; what was not ticked is not sent, and means no."""
        return super().read(value or "no", options)


@dataclass(frozen=True, slots=True)
class OpenTable:
    """The rows that people add: each is answered by all questions of the form, or by none.

    They are numbered from ``01`` in the order in which they were entered.
    """

    least: int = 1
    most: int = 40

    @property
    def rows(self) -> tuple[Row, ...]:
        """The rows that can be filled."""
        return tuple(Row(f"{number:02}", str(number)) for number in range(1, self.most + 1))


@dataclass(frozen=True, slots=True)
class FormCell:
    """A question of the form, or one row of it, as it is asked about an item."""

    number: int
    """The question's number on the screen, from 1."""
    question: Question
    row: Row
    options: tuple[Option, ...]

    @property
    def key(self) -> tuple[str, str]:
        """Return the keys of question and row."""
        return self.question.key, self.row.key

    @property
    def field(self) -> str:
        """Return the form field's name."""
        return field_name(*self.key)

    def is_asked(self, given: Mapping[tuple[str, str], str]) -> bool:
        """Return True unless it depends on an answer that was not given. ``given`` is by :attr:`key`."""
        after = self.question.only_after
        return after is None or given.get((after[0], self.row.key)) in after[1]

    @property
    def title(self) -> str:
        """Return the question's title, with the row's label if it has one."""
        return f"{self.question.title}: {self.row.label}" if self.row.label else str(self.question.title)

    @property
    def labels(self) -> dict[str, str]:
        """Return the options' labels by key."""
        return {option.key: str(option.label) for option in self.options}

    def labels_of(self, chosen: Collection[str]) -> list[str]:
        """Return the labels of these options, in the order of the form."""
        return [label for key, label in self.labels.items() if key in chosen]


class Choice(NamedTuple):
    """An answer: the option chosen for a row of a question, or the words that were written there."""

    question: str
    row: str
    option: str
    """The option's key; of a :class:`Text` the words."""

    @property
    def field(self) -> str:
        """Return the form field's name."""
        return field_name(self.question, self.row)


def field_name(question: str, row: str = "") -> str:
    """Return the form field's name for a question (and row): ``q1`` or ``labels.belief-3``."""
    return f"{question}.{row}" if row else question


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
    passed: str = ""
    """How many passed its qualification test: “19 of 100”."""


Layout = Literal["items", "theory-of-mind"]
"""The files and columns of a release: items as imported, or stories with the question sets made from them."""


Resolution = Literal["filter", "mean", "majority", "reconciled"]
"""How several people's answers to an item become one decision: a filter that researchers choose keeps or
drops the item; or every item with all its answers is released, with their means or shares of right answers,
or with the answer of more than half of the people to each question, or with the table that experts made of
the rows that people listed (:mod:`annotation.reconciling`)."""


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
    """The kind of question, by which statistics are told: a condition, or what is asked."""
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
    example: ClassVar[str] = ""
    """An import file with two stories, shown to researchers who prepare one."""
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

    @abc.abstractmethod
    def parse(self, content: Mapping[str, Any]) -> Any:
        """Parse a story's ``content`` into a typed item. Raise ``ValueError`` if it is invalid."""

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
        """Yield warnings about a story."""
        return ()

    def text_for_duplicates(self, story: StoryRow) -> str:
        """Return the text to compare for near-duplicates between stories of different cores."""
        return str(story.content.get("story", ""))

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
        cells = list(self.cells(item))
        for cell in cells:
            try:
                given[cell.key] = cell.question.read(submitted.get(cell.field, ""), cell.options)
            except ValueError as error:
                wrong[cell.key] = str(error)
        unused = self._unused(given)
        choices: list[Choice] = []
        errors: dict[str, str] = {}
        for cell in filter(lambda cell: cell.is_asked(given), cells):
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
        """Return the rows of the open table that nothing was written in, except those that must be filled."""
        if self.open_table is None:
            return frozenset()
        begun = {row for (_question, row), value in given.items() if value}
        return frozenset(row.key for row in self.open_table.rows[self.open_table.least :]) - begun
