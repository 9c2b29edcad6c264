"""JSON as releases write it, so that equal values are equal bytes.

UTF-8 without escapes, no spaces in rows, two spaces of indentation in documents, keys in the given order, no
NaN, and one ``\\n`` at the end.
"""

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

_STORY_ID = re.compile(rb'\{"story_id": ?"([^"\\]*)"')
"""Matches an id without escapes as the first key of a row; other rows are parsed as JSON."""
_NESTED = frozenset((dict, list, tuple))
_INDENTED = orjson.OPT_APPEND_NEWLINE | orjson.OPT_INDENT_2


def line(row: Mapping[str, Any], *, finite: bool = False) -> bytes:
    """Return one row of a JSON Lines file. Raise ``ValueError`` for NaN and infinities.

    Pass ``finite=True`` for a row without them: it saves the search.
    """
    try:
        data = orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE)
    except orjson.JSONEncodeError:  # a whole number beyond 64 bits, which JSON allows and orjson does not
        return (json.dumps(row, ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n").encode()
    if not finite and b"null" in data:
        _refuse_odd_numbers(row)
    return data


def document(value: Mapping[str, Any]) -> bytes:
    """Return an indented JSON file. Raise like :func:`line`."""
    _refuse_odd_numbers(value)
    return orjson.dumps(value, option=_INDENTED)


def story_id(line: bytes) -> bytes:
    """Return the story's id, in UTF-8, from a row of story-data, dropped stories or votes.

    Raise ``ValueError`` or ``KeyError`` for any other line.
    """
    found = _STORY_ID.match(line)
    if found:
        return found[1]
    named: str = orjson.loads(line)["story_id"]
    return named.encode()


def rows(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of a file."""
    with path.open("rb", buffering=1 << 18) as file:
        yield from map(orjson.loads, file)


def lines_in_order(path: Path) -> Iterator[tuple[bytes, bytes]]:
    """Yield (story id, line) of a file. Raise ``ValueError`` if the ids are out of order."""
    last = b""
    with path.open("rb", buffering=1 << 20) as file:
        for line in file:
            found = story_id(line)
            if found < last:
                raise ValueError(f"{path}: “{found.decode()}” comes after “{last.decode()}”")
            last = found
            yield found, line


def timestamp(moment: datetime) -> str:
    """Return ISO 8601 in UTC with milliseconds: ``2026-03-01T09:30:00.250Z``."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _refuse_odd_numbers(value: Mapping[str, Any] | Sequence[Any]) -> None:
    """Raise ``ValueError`` for NaN and infinities, which orjson would silently write as null."""
    inners: Iterable[Any] = value.values() if isinstance(value, Mapping) else value
    for inner in inners:
        kind = type(inner)
        if kind is float and not math.isfinite(inner):
            raise ValueError(f"{inner} is not a number that JSON has.")
        if kind in _NESTED and inner:
            _refuse_odd_numbers(inner)
