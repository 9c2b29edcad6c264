"""Read the fields of a row: a value, or a problem that says how to fix it."""

import html
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from difflib import get_close_matches
from typing import Any, Final

from annotation.importing.jsonl import BadJson, parse_json
from annotation.importing.rows import Problem, SourceRow, StoryRow, describe, find_forbidden, quote

MAX_SENTENCE = 2000
MAX_STORY = 2 * MAX_SENTENCE + 3
MAX_QUESTION = 1000
MAX_ACTION = 500
MAX_NAME = 100
MOST_RATED = 5
PREDICTOR = "predictor_model"

_IDENTIFIER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_TAG = re.compile(r"</?[A-Za-z][^<>]*>|<!--")
_ENTITY = re.compile(r"&(#\d{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")

ENTITY_COLUMN = re.compile(r"(?:Person|Object|Action|Place) [A-Z]")
"""Fields with one name each that may replace ``entities`` (convenient in CSV)."""

IGNORED = frozenset(("error_flags", "scenario_text", "prompt", "entities_source", "seed_story", "reason"))
"""Fields that the generator and our lists of dropped stories write and that no story needs.

They are ignored, as is every field whose name starts with ``_``. Any other unknown field is a problem, so
that a misspelt name never silently loses its values.
"""

UNREADABLE: Final = object()
"""Stands for a value that could not be read, after the problem was reported."""

Reported = set[tuple[str, str, str]]
"""Problems that were reported once per file: (file, field, message)."""


class Fields:
    """The fields of a row. Each method returns a clean value, or an empty one after noting the problem."""

    __slots__ = ("_reported", "data", "entity_columns", "failed", "problems", "row")

    def __init__(self, row: SourceRow, reported: Reported, known: frozenset[str]) -> None:
        self.row = row
        self.data = row.data
        self.problems: list[Problem] = []
        self.failed = False  # True even if the problem was already reported at an earlier row
        self.entity_columns: dict[str, Any] = {}
        self._reported = reported
        self._check_names(known)

    def refuse(self, field: str, message: str, remedy: str) -> None:
        """Note a problem of this row."""
        self.failed = True
        self.problems.append(Problem(self.row.file, self.row.line, _name(field), message, remedy))

    def refuse_once(self, field: str, message: str, remedy: str) -> None:
        """Note a problem of the file's fields once: at its header or its first row."""
        self.failed = True
        key = (self.row.file, field, message)
        if key in self._reported:
            return
        self._reported.add(key)
        line = self.row.header_line or self.row.line
        self.problems.append(Problem(self.row.file, line, _name(field), message, remedy))

    def refuse_missing(self, field: str, remedy: str) -> None:
        """Note a missing field: once for a column of a table, else in each row."""
        if self.row.header_line:
            self.refuse_once(field, "There is no such column.", remedy)
        else:
            self.refuse(field, "The field is missing.", remedy)

    def _check_names(self, known: frozenset[str]) -> None:
        """Refuse unknown fields for this kind of row; collect those that name one entity each."""
        if known.issuperset(self.data):
            return
        for name, value in self.data.items():
            if name in known or name in IGNORED or name.startswith("_"):
                continue
            if ENTITY_COLUMN.fullmatch(name):
                if value not in (None, ""):
                    self.entity_columns[name] = value
                continue
            remedy = f"{_hint(name[:100], known)}Remove it, or start its name with “_” to have it ignored."
            self.refuse_once(name, f"There is no field {quote(name)}.", remedy)

    def text(self, name: str, limit: int) -> str:
        """Return a required text, stripped."""
        value = self.data.get(name)
        if type(value) is str:
            return self.check(name, value, limit)
        if name not in self.data:
            self._missing(name)
        elif value is None:
            self.refuse(name, "The field is empty (null).", "Give a text.")
        else:
            self.refuse(name, f"A text is expected, not {_shown(value)}.", "Write it in double quotes.")
        return ""

    def optional_text(self, name: str, limit: int) -> str:
        value = self.data.get(name)
        if value is None or value == "":
            return ""
        return self.text(name, limit)

    def check(self, name: str, value: str, limit: int) -> str:
        """Return the text as it will be stored, or ``""`` after noting its problem."""
        value = value.strip()
        if value and len(value) <= limit and value.isprintable() and "<" not in value and "&" not in value:
            return value
        complaint = _complaint(value, limit)
        if complaint is None:
            return value
        self.refuse(name, *complaint)
        return ""

    def paragraphs(self, name: str, limit: int) -> str:
        """Return a required text with a blank line between its paragraphs; other texts have one line."""
        value = self.data.get(name)
        lines = [line for line in value.splitlines() if line.strip()] if isinstance(value, str) else []
        if not lines or sum(map(len, lines)) > limit:
            return self.text(name, limit)
        return "\n\n".join(self.check(name, line, limit) for line in lines)

    def check_content(
        self, parse: Callable[[Mapping[str, Any]], Any], content: Mapping[str, Any], remedy: str
    ) -> bool:
        """Return True if a protocol can parse the content; note the problem that it finds."""
        try:
            parse(content)
        except ValueError as error:
            field, _colon, message = str(error).partition(": ")
            self.refuse(field, message[:1].upper() + message[1:], remedy)
        return not self.failed

    def identifier(self, name: str) -> str:
        """Return an id: letters, digits, full stops, underscores, hyphens, and not like a number."""
        value = self.text(name, 10_000)
        if value and not _IDENTIFIER.fullmatch(value):
            remedy = "Use 1 to 100 letters (A-Z, a-z), digits, “.”, “_” and “-”, a letter or digit first."
            self.refuse(name, f"{quote(value)} is not an id.", remedy)
            return ""
        if value and _reads_as_number(value):
            message = f"{quote(value)} reads as a number, which programs that load the data would change."
            self.refuse(name, message, f"Add letters, such as “story-{value[:20]}”.")
            return ""
        return value

    def one_of(self, name: str, known: Iterable[str]) -> str:
        """Return one of the known names."""
        value = self.text(name, 10_000)
        if not value or value in known:
            return value
        names = sorted(known)
        hint = _hint(value[:100].lower().replace(" ", "_"), names)
        self.refuse(name, f"{quote(value)} is not known.", f"{hint}Known: {', '.join(names)}.")
        return ""

    def severity(self, name: str) -> int | None:
        """Return 1, 2 or 3, or ``None`` if missing. A spreadsheet's ``"2"`` or ``2.0`` is 2."""
        value = self.data.get(name)
        if type(value) is str:
            value = value.strip()
        if value is None or value == "":
            return None
        found = _SEVERITIES.get(value) if type(value) in (int, float, str) else None
        if found is None:
            remedy = "Write 1 (mild), 2 or 3 (high), or leave it empty."
            self.refuse(name, f"The severity is {_shown(value)}.", remedy)
        return found

    def structure(self, name: str) -> Any:
        """Return a list or object; parse a text that starts like one as JSON (for CSV).

        Return :data:`UNREADABLE` after noting why such a text is not JSON.
        """
        value = self.data.get(name)
        if type(value) is str and value.lstrip()[:1] in ("[", "{"):
            try:
                return parse_json(value)
            except BadJson as error:
                self.refuse(name, f"The JSON in the cell is wrong: {error.message}", error.remedy)
                return UNREADABLE
        return value

    def predictions(self, name: str, rated: str) -> tuple[dict[str, Any], ...]:
        """Return an optional list of ratings: ``{"harmfulness": 1 to 5, "predictor_model": "…"}``."""
        value = self.structure(name)
        if value is None or value == "" or value is UNREADABLE:
            return ()
        form = f'Write [{{"{rated}": 3, "{PREDICTOR}": "its name"}}], or [] for none.'
        if not isinstance(value, list):
            self.refuse(name, f"A list of predictions is expected, not {_shown(value)}.", form)
            return ()
        return tuple(self._prediction(f"{name}[{at}]", one, rated, form) for at, one in enumerate(value))

    def _prediction(self, place: str, given: Any, rated: str, form: str) -> dict[str, Any]:
        if not isinstance(given, dict) or set(given) != {rated, PREDICTOR}:
            self.refuse(place, f"“{rated}” and “{PREDICTOR}” are expected, and nothing else.", form)
            return {}
        rating, model = given[rated], given[PREDICTOR]
        if type(rating) is not int or not 1 <= rating <= MOST_RATED:
            remedy = f"Give a whole number from 1 to {MOST_RATED}."
            self.refuse(f"{place}.{rated}", f"The rating is {_shown(rating)}.", remedy)
        if type(model) is not str:
            self.refuse(f"{place}.{PREDICTOR}", f"A text is expected, not {_shown(model)}.", form)
            return {}
        return {rated: rating, PREDICTOR: self.check(f"{place}.{PREDICTOR}", model, MAX_NAME)}

    def _missing(self, name: str) -> None:
        close = get_close_matches(name, self.data, n=1, cutoff=0.8)
        self.refuse_missing(name, f"Is it the one called {quote(close[0])}?" if close else "Add it.")


Read = Callable[[Fields], StoryRow | None]


def read_each(rows: Iterable[SourceRow], known: frozenset[str], read: Read) -> Iterator[StoryRow | Problem]:
    """Yield what ``read`` makes of rows with these fields, and a problem for everything that is wrong."""
    reported: Reported = set()
    for row in rows:
        yield from read_row(row, reported, known, read)


def read_row(
    row: SourceRow, reported: Reported, known: frozenset[str], read: Read
) -> Iterator[StoryRow | Problem]:
    """Yield what ``read`` makes of one row, or its problems."""
    fields = Fields(row, reported, known)
    item = read(fields)
    yield from fields.problems
    if item and not fields.failed:
        yield item


def _complaint(value: str, limit: int) -> tuple[str, str] | None:
    if not value:
        return "The text is empty.", "Write the text, or remove the row."
    if len(value) > limit:
        return f"The text has {len(value):,} characters; at most {limit:,} are allowed.", "Shorten it."
    position = find_forbidden(value)
    if position >= 0:
        return f"Character {position + 1} is {describe(value[position])}, which cannot be seen.", "Remove it."
    for mark, name in _BREAKS.items():
        if mark in value:
            return f"Character {value.index(mark) + 1} is a {name}.", "Write the text on one line."
    tag = _TAG.search(value)
    if tag:
        return f"The text holds HTML: {quote(tag[0])}.", "Give plain text without markup."
    for entity in _ENTITY.finditer(value):
        meant = html.unescape(entity[0])
        if meant != entity[0]:
            return f"The text holds the HTML entity {quote(entity[0])}.", f"Write {quote(meant)} itself."
    return None


_BREAKS = {"\n": "line break", "\r": "line break", "\t": "tab"}
_SEVERITIES = {said: level for level in (1, 2, 3) for said in (level, str(level), f"{level}.0")}


def _hint(name: str, known: Iterable[str]) -> str:
    close = get_close_matches(name, known, n=1)
    return f"Did you mean “{close[0]}”? " if close else ""


def _reads_as_number(value: str) -> bool:
    if not any(character.isalpha() for character in value):
        return True
    try:
        float(value)
    except ValueError:
        return False
    return True


def _name(field: str) -> str:
    """Make a field's name safe to show and store in a problem."""
    return field[:60] if field.isprintable() else quote(field)


_SHOWN: dict[type, Callable[[Any], str]] = {
    dict: lambda value: "an object",
    list: lambda value: "a list",
    str: quote,
    bool: lambda value: "true" if value else "false",
    type(None): lambda value: "null",
}


def _shown(value: Any) -> str:
    return _SHOWN.get(type(value), lambda number: quote(str(number)[:40]))(value)
