"""The kinds of questions of a form, and answers to them. Pure."""

import re
import unicodedata
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, cast

from django.utils.translation import gettext_lazy

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
    """The options of the question that this row offers; empty: all of them."""


SINGLE_ROW = (Row(""),)


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
    """Ask only those who chose one of these options of an earlier question; neither may have rows."""

    def options_for(self, item: Any) -> tuple[Option, ...]:
        """Return the options for this item; by default the same for every item."""
        return self.options

    def rows_for(self, item: Any) -> tuple[Row, ...]:
        """Return the rows to label for this item; by default one unnamed row."""
        return SINGLE_ROW

    @property
    def missing(self) -> str:
        """The error shown at a question that was left open."""
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
            message = _("“%(value)s” is not one of the answers to this question.")
            raise ValueError(message % {"value": value[:40]})
        return value

    def option(self, key: str) -> Option:
        """Return the static option with this key. Raise ``KeyError`` if unknown."""
        return {option.key: option for option in self.options}[key]


@dataclass(frozen=True)
class Scale(Question):
    """A question answered with a whole number, with words for both ends of the scale.

    Its options are the numbers; an annotator chooses one by its digit. Raise ``ValueError`` unless
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
        """Return the words with single spaces; "" if none can be seen. Raise ``ValueError`` if too long."""
        words = unicodedata.normalize("NFC", " ".join(_CONTROL.sub(" ", value).split()))
        if not any(one.isprintable() and one != " " for one in words):
            return ""
        if len(words) > self.longest:
            message = _("Please shorten this to %(longest)s characters; it has %(length)s.")
            raise ValueError(message % {"longest": self.longest, "length": len(words)})
        return words


@dataclass(frozen=True)
class SeveralOf(Question):
    """A question of which any number of options may be chosen: each is a row, answered with yes or no.

    None of them can count against an item: ask about it in a question of its own.
    """

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

    They are numbered from ``01``. Gaps are allowed. At least ``least`` rows must be filled.
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
