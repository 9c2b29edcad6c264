"""The invariants that a test could break: all of them are eight times the work of those of slots."""

from __future__ import annotations

from functools import cache

from integrity.base import Check, read_checks
from integrity.catalogue import CHECKS, LOGGED, TOPICS, run


@cache
def _checks(about: str) -> tuple[Check, ...]:
    if about in TOPICS:
        return tuple(read_checks(about))
    named = tuple(check for check in CHECKS if check.name == about)
    assert named, f"There is no check {about}."
    return named


def broken(*about: str) -> set[str]:
    """Return the names of the checks that fail, of these topics and names (slots and votes unless given).

    Whatever they are, everything must be in the log (invariant 10).
    """
    checks = {check for one in about or ("slots", "votes") for check in _checks(one)} | {*LOGGED}
    return {outcome.check.name for outcome in run(checks) if not outcome.holds}
