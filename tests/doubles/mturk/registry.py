"""The operations that the double knows, by their names in the protocol, and how lists are paged."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tests.doubles.mturk import errors

if TYPE_CHECKING:
    from tests.doubles.mturk.world import World

Params = Mapping[str, Any]
Operation = Callable[["World", Params], dict[str, Any]]

OPERATIONS: dict[str, Operation] = {}
PAGE = 10  # MTurk's default is not documented; its sample shows ten


def operation(function: Operation) -> Operation:
    """Register a function under its name in the protocol: ``get_hit`` answers ``GetHIT``."""
    OPERATIONS[_protocol_name(function.__name__)] = function
    return function


def _protocol_name(name: str) -> str:
    special = {"hit": "HIT", "hits": "HITs", "for": "For", "with": "With"}
    return "".join(special.get(word, word.capitalize()) for word in name.split("_"))


def page(name: str, rows: Sequence[dict[str, Any]], params: Params) -> dict[str, Any]:
    """One page of a list. ``NextToken`` comes with every page that is not empty, the last one too.

    Pages are cut by position at the time of asking: whoever changes the list between two pages misses rows.
    """
    start, size = _start(params.get("NextToken")), params.get("MaxResults", PAGE)
    cut = list(rows[start : start + size])
    answer: dict[str, Any] = {"NumResults": len(cut), name: cut}
    if cut:
        answer["NextToken"] = base64.b64encode(json.dumps(start + size).encode()).decode()
    return answer


def _start(token: str | None) -> int:
    try:
        return int(json.loads(base64.b64decode(token, validate=True))) if token else 0
    except (ValueError, binascii.Error):
        raise errors.invalid_value("NextToken", token) from None
