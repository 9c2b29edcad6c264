"""Markdown that the texts of people cannot reshape: escaping, tables, numbers in words. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#!|~&$])")
_NUMBERED = re.compile(r"^(\d{1,9})([.)])")
_NO_TEXT = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\ud800-\udfff\ufdd0-\ufdef\u202a-\u202e\u2066-\u2069"
    + "".join(f"{chr(plane + 0xFFFE)}{chr(plane + 0xFFFF)}" for plane in range(0, 0x110000, 0x10000))
    + "]"
)
"""Controls that are no spaces, halves of pairs, non-characters, and what turns the text after it around.

Spelled out: Python's own tables of what is assigned grow, and the same release must give the same bytes.
"""

NOTHING = "–"
"""What a table shows where there is no number."""


def one_line(value: str) -> str:
    """The text on one line, without characters that are not text or that turn the text around them."""
    return " ".join(_NO_TEXT.sub("", value).split())


def text(value: str) -> str:
    """A person's text as one line of plain Markdown text: no heading, list, link or column comes of it."""
    escaped = _NUMBERED.sub(r"\1\\\2", _MARKDOWN.sub(r"\\\1", one_line(value)))
    return f"\\{escaped}" if escaped[:1] in ("-", "+", "=", ":") else escaped


def paragraphs(value: str) -> list[str]:
    """A person's text as plain paragraphs; blank lines part them."""
    return [found for part in re.split(r"\n\s*\n", value) if (found := text(part))]


def code(value: str) -> str:
    """A name as a code span, with every character of it. Not for a table: see :func:`cell`."""
    name = one_line(value) or "-"
    fence = "`" * (1 + max(map(len, re.findall(r"`+", name)), default=0))
    space = " " if "`" in (name[0], name[-1]) else ""
    return f"{fence}{space}{name}{space}{fence}"


def cell(value: str) -> str:
    """A name as a code span inside a table, where bars end a cell unless they are escaped."""
    apart = re.sub(r"\\(?=\\*\|)", r"\\ ", one_line(value))  # a backslash would undo the escape
    return code(apart).replace("|", r"\|")


def fenced(language: str, lines: str) -> str:
    """A block of code. ``lines`` must not hold three backquotes."""
    return f"```{language}\n{lines}\n```"


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table whose first column is text and whose others are figures, unless they hold words."""
    body = [list(row) for row in rows]
    rules = ["---" if place == 0 or _wordy(body, place) else "---:" for place in range(len(header))]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (header, rules, *body))


def _wordy(rows: Sequence[Sequence[str]], place: int) -> bool:
    return any(len(row[place]) > 24 for row in rows)


def bullets(items: Iterable[str]) -> str:
    return "\n".join(f"- {item}" for item in items)


def steps(items: Iterable[str]) -> str:
    """A numbered list, one paragraph per item."""
    return "\n".join(f"{place}. {item}" for place, item in enumerate(items, 1))


def percent(share: float | None) -> str:
    """A share in 0..1 as a percentage with one decimal: ``63.6 %``."""
    return NOTHING if share is None else f"{100 * share:.1f} %"


def share_of(part: int, whole: int) -> str:
    """``19 of 100 (19.0 %)``; without the percentage where there is no whole."""
    counted = f"{part:,} of {whole:,}"
    return f"{counted} ({percent(part / whole)})" if whole else counted


def decimal(value: float) -> str:
    """Two decimals, and no minus before zero."""
    return f"{round(value, 2) + 0.0:.2f}"


def interval(bounds: Sequence[float] | None) -> str:
    """`` [0.80, 0.88]`` with a space before it, or nothing where there is no interval."""
    return f" [{decimal(bounds[0])}, {decimal(bounds[1])}]" if bounds else ""


def counted(number: int, one: str, many: str) -> str:
    """``1 story``, ``2,000 stories``."""
    return f"{number:,} {one if number == 1 else many}"


def listed(items: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    return " and ".join(part for part in (", ".join(items[:-1]), *items[-1:]) if part)
