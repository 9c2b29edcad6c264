"""How values become bytes in a release: one way of writing JSON, so that equal values are equal bytes.

UTF-8, characters as they are (not escaped), ``", "`` and ``": "`` between tokens as in the published
datasets of this kind, keys in the order given, never NaN, one ``\\n`` after every row.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False)
_INDENTED = json.JSONEncoder(ensure_ascii=False, allow_nan=False, indent=2)


def line(row: Mapping[str, Any]) -> bytes:
    """One row of a JSON Lines file. Raises ``ValueError`` for a number that JSON does not have."""
    return f"{_ENCODER.encode(row)}\n".encode()


def document(value: Mapping[str, Any]) -> bytes:
    """A whole JSON file, indented for people."""
    return f"{_INDENTED.encode(value)}\n".encode()


def timestamp(moment: datetime) -> str:
    """ISO 8601 in UTC with milliseconds: ``2026-03-01T09:30:00.250Z``."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
