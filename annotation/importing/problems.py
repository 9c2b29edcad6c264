"""Problems of import files, forbidden characters, and safe quotations of imported text."""

import re
import unicodedata
from dataclasses import dataclass


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
