"""The invariants that a test could break: all of them are eight times the work of those of slots."""

from __future__ import annotations

from functools import cache

from integrity.base import Check, read_checks
from integrity.catalogue import CHECKS, TOPICS, run


@cache
def _checks(about: str) -> tuple[Check, ...]:
    if about in TOPICS:
        return tuple(read_checks(about))
    return tuple(check for check in CHECKS if check.name == about)


def broken(*about: str) -> set[str]:
    """Return the names of the checks that fail, of these topics and names (slots and votes unless given)."""
    return {
        outcome.check.name
        for one in about or ("slots", "votes")
        for outcome in run(_checks(one))
        if not outcome.holds
    }
