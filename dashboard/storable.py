"""What JSON can say and the database cannot keep."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

UNSTORABLE = re.compile(r"[\x00\ud800-\udfff]")
"""JSON can escape these; PostgreSQL's texts and UTF-8 cannot hold them."""


def unstorable_text(data: Any) -> str | None:
    """A text in parsed JSON that cannot be stored, or None when all can."""
    return next((text for text in _texts_in(data) if UNSTORABLE.search(text)), None)


def _texts_in(data: Any) -> Iterator[str]:
    """Every text, the names of objects' entries included; without recursion."""
    rest = [data]
    while rest:
        value = rest.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            rest += [*value.keys(), *value.values()]
        elif isinstance(value, list):
            rest += value
