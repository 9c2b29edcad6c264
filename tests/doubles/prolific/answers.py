"""Requests, answers, and what answers are made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from tests.doubles.prolific.rules import Refused

PAGE_SIZE = 20


@dataclass(frozen=True)
class Request:
    """What a client asks, and where it thinks that it asks it."""

    method: str
    path: str
    query: Mapping[str, str]
    body: Any
    origin: str


@dataclass(frozen=True)
class Answer:
    body: Any
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


def moment(at: datetime | None) -> str | None:
    """A time as Prolific writes it."""
    return None if at is None else f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03d}Z"


def found(rows: Mapping[str, Any], key: str) -> Any:
    """The row with this key; a 404 without."""
    if key not in rows:
        raise Refused(f"Not found: {key}", 404, "Not Found")
    return rows[key]


def page_of(rows: list[dict[str, Any]], request: Request, *, size: int = PAGE_SIZE) -> dict[str, Any]:
    """The page of a list that was asked for. The schema of a list documents nothing but its results."""
    size = int(request.query.get("page_size", size))
    page = int(request.query.get("page", 1))
    shown = rows[(page - 1) * size : page * size]
    if page > 1 and not shown:
        raise Refused("Invalid page.", 404, "Not Found")
    return {"results": shown}
