"""How values become bytes in a release: one way of writing JSON, so that equal values are equal bytes.

UTF-8, characters as they are (not escaped), no space between tokens in a row, two spaces of indentation
in a document, keys in the order given, never NaN, one ``\\n`` at the end of both.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import orjson

_STORY_ID = re.compile(rb'\{"story_id": ?"([^"\\]*)"')
"""The id as the first key of a row, without anything escaped in it; other rows are read as JSON."""
_INDENTED = orjson.OPT_APPEND_NEWLINE | orjson.OPT_INDENT_2


def line(row: Mapping[str, Any]) -> bytes:
    """One row of a JSON Lines file. Raises ``ValueError`` for a number that JSON does not have."""
    try:
        data = orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE)
    except orjson.JSONEncodeError:  # a whole number beyond 64 bits, which JSON allows and orjson does not
        return (json.dumps(row, ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n").encode()
    if b"null" in data:
        _refuse_odd_numbers(row)
    return data


def document(value: Mapping[str, Any]) -> bytes:
    """A whole JSON file, indented for people. Raises like :func:`line`."""
    _refuse_odd_numbers(value)
    return orjson.dumps(value, option=_INDENTED)


def story_id(line: bytes) -> bytes:
    """The story's id in a row of story-data, dropped stories or votes, in UTF-8.

    Raises ``ValueError`` or ``KeyError`` for a line that is no such row.
    """
    found = _STORY_ID.match(line)
    if found:
        return found[1]
    named: str = orjson.loads(line)["story_id"]
    return named.encode()


def timestamp(moment: datetime) -> str:
    """ISO 8601 in UTC with milliseconds: ``2026-03-01T09:30:00.250Z``."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _refuse_odd_numbers(value: Any) -> None:
    """orjson writes NaN and the infinities as null: a value would be lost without a word."""
    if isinstance(value, dict):
        for inner in value.values():
            if inner is not None and type(inner) is not str:
                _refuse_odd_numbers(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            if inner is not None and type(inner) is not str:
                _refuse_odd_numbers(inner)
    elif isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{value} is not a number that JSON has.")
