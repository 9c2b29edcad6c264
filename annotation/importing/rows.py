"""A story during import (a row of a file, then checked), and what is wrong with one, safely quoted."""

import hashlib
import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any, TypeVar

Row = TypeVar("Row")

PROVENANCE = (
    "story_id", "core_id", "scenario_name", "story_prompt_example", "severity_original",
    "story_generator_model",
)  # fmt: skip
IMPORTED = (*PROVENANCE, "content", "harmfulness_predicted", "unethicality_predicted")
"""Everything imported of a story, by the names of :class:`StoryRow`, the model and releases."""


@dataclass(frozen=True, slots=True)
class SourceRow:
    """One parsed row of an import file, not interpreted yet.

    ``header_line`` is the line with the field names (CSV), or 0 if every row names its own fields.
    Problems with the names themselves are reported there, once.
    """

    file: str
    line: int
    data: Mapping[str, Any]
    header_line: int = 0


@dataclass(frozen=True)
class StoryRow:
    """A checked story: provenance common to all protocols, and the content that a protocol parses."""

    file: str
    line: int
    story_id: str
    core_id: str
    scenario_name: str
    content: Mapping[str, Any]
    story_prompt_example: str = ""
    severity_original: int | None = None
    story_generator_model: str = ""
    harmfulness_predicted: tuple[Any, ...] = ()
    unethicality_predicted: tuple[Any, ...] = ()

    @cached_property
    def content_hash(self) -> str:
        """Return the SHA-256 (hex) of everything imported of the story except its file and line.

        Two rows with the same ``story_id`` are the same story exactly when their hashes are equal.
        """
        facts = {name: getattr(self, name) for name in IMPORTED}
        return hash_of(facts | {"content": dict(self.content)})

    @cached_property
    def text_hash(self) -> str:
        """Return the SHA-256 (hex) of the content alone, equal for stories with the same text."""
        return hash_of(self.content)


def hash_of(facts: Mapping[str, Any]) -> str:
    """Return the SHA-256 (hex) of parsed JSON, whatever the order of its keys."""
    return hashlib.sha256(_CANONICAL.encode(dict(facts)).encode()).hexdigest()


def batches(rows: Iterable[Row], size: int) -> Iterator[list[Row]]:
    """Yield the rows of a stream in lists of ``size``; the last may be shorter."""
    iterator = iter(rows)
    while batch := list(islice(iterator, size)):
        yield batch


_CANONICAL = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class Problem:
    """A reason to refuse a file: where, what, and how to fix it.

    ``line`` counts from 1 (0: the whole file); ``column`` counts characters from 1 (0: unknown).
    """

    file: str
    line: int
    field: str
    message: str
    remedy: str
    column: int = 0

    def __str__(self) -> str:
        place = self.file
        if self.line:
            place += f":{self.line}"
            if self.column:
                place += f":{self.column}"
        field = f" {self.field}:" if self.field else ""
        return f"{place}:{field} {self.message} {self.remedy}"


FORBIDDEN = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
"""Control characters (C0 except tab and line ends, delete, C1), line and paragraph separators, characters
that change the direction of text, a byte-order mark inside a text, and halves of surrogate pairs: all are
invisible on a screen, and each changes what a reader or a database gets."""


def find_forbidden(text: str) -> int:
    """Return the position (from 0) of the first forbidden character, or -1."""
    if text.isprintable():  # the common case, decided without a regular expression
        return -1
    found = FORBIDDEN.search(text)
    return found.start() if found else -1


def invisible(text: str) -> str:
    """Describe a forbidden character in a text, or return ``""``. JSON escapes can hide one."""
    position = find_forbidden(text)
    return f"The text holds the invisible character {describe(text[position])}." if position >= 0 else ""


def describe(character: str) -> str:
    """Name a character for a message: ``U+202E (right-to-left override)``."""
    name = unicodedata.name(character, "").lower() or _NAMES.get(ord(character), "")
    if not name:
        name = "half of a surrogate pair" if "\ud800" <= character <= "\udfff" else "control character"
    return f"U+{ord(character):04X} ({name})"


def quote(text: str, limit: int = 60) -> str:
    """Put the text in quotation marks, cut to ``limit`` characters and without invisible ones."""
    shown = text if len(text) <= limit else text[:limit] + "…"
    if not shown.isprintable():
        shown = "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in shown)
    return f"“{shown}”"


_NAMES = {0: "null", 9: "tab", 10: "line feed", 13: "carriage return", 0x1A: "substitute", 0x7F: "delete"}
