"""Markdown helpers: escaping of people's texts, tables, numbers in words. Pure."""

import re
from collections.abc import Iterable, Sequence

_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#!|~&$])")
_NUMBERED = re.compile(r"^(\d{1,9})([.)])")
_NO_TEXT = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\ud800-\udfff\ufdd0-\ufdef\u202a-\u202e\u2066-\u2069"
    + "".join(f"{chr(plane + 0xFFFE)}{chr(plane + 0xFFFF)}" for plane in range(0, 0x110000, 0x10000))
    + "]"
)
"""Control characters except spaces, surrogates, non-characters, and direction overrides.

Listed explicitly, because Python's tables of assigned characters grow and the same release must give the same
bytes.
"""

NOTHING = "–"
"""Stands in tables for a missing number."""


def one_line(value: str) -> str:
    """Return the text on one line, without control characters or direction overrides."""
    return " ".join(_NO_TEXT.sub("", value).split())


def text(value: str) -> str:
    """Return a person's text as one line of plain Markdown: no heading, list, link or column."""
    escaped = _NUMBERED.sub(r"\1\\\2", _MARKDOWN.sub(r"\\\1", one_line(value)))
    return f"\\{escaped}" if escaped[:1] in ("-", "+", "=", ":") else escaped


def paragraphs(value: str) -> list[str]:
    """Return a person's text as plain paragraphs, split at blank lines."""
    return [found for part in re.split(r"\n\s*\n", value) if (found := text(part))]


def code(value: str) -> str:
    """Return a name as a code span, with every character. For tables use :func:`cell`."""
    name = one_line(value) or "-"
    fence = "`" * (1 + max(map(len, re.findall(r"`+", name)), default=0))
    space = " " if "`" in (name[0], name[-1]) else ""
    return f"{fence}{space}{name}{space}{fence}"


def cell(value: str) -> str:
    """Return a name as a code span for a table cell, where bars must be escaped."""
    apart = re.sub(r"\\(?=\\*\|)", r"\\ ", one_line(value))  # a backslash would undo the escape
    return code(apart).replace("|", r"\|")


def fenced(language: str, lines: str) -> str:
    """Return a code block. ``lines`` must not contain three backquotes."""
    return f"```{language}\n{lines}\n```"


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table: first column text, others right-aligned figures unless they hold long text."""
    body = [list(row) for row in rows]
    wordy = [place == 0 or any(len(row[place]) > 24 for row in body) for place in range(len(header))]
    rules = ["---" if is_wordy else "---:" for is_wordy in wordy]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (header, rules, *body))


def bullets(items: Iterable[str]) -> str:
    return "\n".join(f"- {item}" for item in items)


def steps(items: Iterable[str]) -> str:
    """Return a numbered list, one paragraph per item."""
    return "\n".join(f"{place}. {item}" for place, item in enumerate(items, 1))


def percent(share: float | None) -> str:
    """Return a share in 0..1 as a percentage with one decimal: ``63.6 %``."""
    return NOTHING if share is None else f"{100 * share:.1f} %"


def share_of(part: int, whole: int) -> str:
    """Return ``19 of 100 (19.0 %)``, or ``0 of 0`` without a percentage."""
    counted = f"{part:,} of {whole:,}"
    return f"{counted} ({percent(part / whole)})" if whole else counted


def decimal(value: float) -> str:
    """Return two decimals, without a minus before zero."""
    return f"{round(value, 2) + 0.0:.2f}"


def interval(bounds: Sequence[float] | None) -> str:
    """Return `` [0.80, 0.88]`` with a leading space, or nothing if there is no interval."""
    return f" [{decimal(bounds[0])}, {decimal(bounds[1])}]" if bounds else ""


def counted(number: int, one: str, many: str) -> str:
    """Return ``1 story`` or ``2,000 stories``."""
    return f"{number:,} {one if number == 1 else many}"


def listed(items: Sequence[str]) -> str:
    """Return ``a``, ``a and b``, or ``a, b and c``."""
    return " and ".join(part for part in (", ".join(items[:-1]), *items[-1:]) if part)
