"""Flags on participants' figures: pure rules with stated thresholds, none of them a verdict.

A flag asks a researcher to look at the evidence. It has no consequence by itself.
"""

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

TOO_FAST = "too_fast"
STRAIGHT_LINING = "straight_lining"
ALWAYS_ALONE = "always_alone"
FAILS_CHECKS = "fails_checks"
UNTRUSTED = "no_trusted_input"
NAMES = (FAILS_CHECKS, TOO_FAST, STRAIGHT_LINING, ALWAYS_ALONE, UNTRUSTED)

FEWEST_VOTES = 20
"""Fewest votes for a flag: a few odd votes are chance."""
FAST_SHARE = 1 / 3
"""Share of the median time of all votes; a third is the usual mark for speeding."""
SAME_SHARE = 0.9
"""Share of a participant's votes with identical answers …"""
SAME_MORE = 0.2
"""… when the share of these answers among everybody else's votes is smaller by this."""
ALONE_SHARE = 0.1
"""Share of a participant's votes in which they alone object …"""
ALONE_TIMES = 3
"""… when that is so many times the share in everybody else's votes."""

FEWEST_CHECKS = 3
"""Fewest hidden checks for a flag."""
FAILED_SHARE = 1 / 3
"""Share of failed hidden checks; unlike the study's own thresholds, it has no consequence."""

UNTRUSTED_SHARE = 0.5
"""Share of votes without a person's click or key, of those whose input the browser reported."""


def raised(person: Mapping[str, Any], median_seconds: float | None) -> list[str]:
    """Return the names of the flags raised by a participant's figures.

    ``person`` is an entry of :meth:`~dashboard.figures.people.PeopleTally.document`. ``median_seconds`` is
    that of all votes of the study.
    """
    rules = {
        TOO_FAST: is_too_fast(person, median_seconds),
        STRAIGHT_LINING: is_straight_lining(person),
        ALWAYS_ALONE: is_always_alone(person),
    }
    return [name for name, holds in rules.items() if holds]


def is_too_fast(person: Mapping[str, Any], median_seconds: float | None) -> bool:
    """Flag participants whose median time, over at least 20 votes, is under a third of everybody's median."""
    if median_seconds is None or person["votes"] < FEWEST_VOTES:
        return False
    return bool(person["median_seconds"] < FAST_SHARE * median_seconds)


def is_straight_lining(person: Mapping[str, Any]) -> bool:
    """Flag participants who give one set of answers in at least 90 % of 20 or more votes.

    Most stories may deserve the same answers, so others must give them less often by 20 points or more.
    """
    others = person["same_share_others"]
    if others is None or person["votes"] < FEWEST_VOTES:
        return False
    return bool(person["same_share"] >= SAME_SHARE and person["same_share"] - others >= SAME_MORE)


def is_always_alone(person: Mapping[str, Any]) -> bool:
    """Flag participants who alone object in 10 % of 20 or more votes, three times the others' share."""
    others = person["alone_share_others"]
    if others is None or person["compared"] < FEWEST_VOTES:
        return False
    return bool(person["alone_share"] >= ALONE_SHARE and person["alone_share"] >= ALONE_TIMES * others)


def fails_checks(person: Mapping[str, Any]) -> bool:
    """Flag participants who failed at least a third of three or more hidden checks."""
    checks = person["checks"]
    return bool(checks["answered"] >= FEWEST_CHECKS and checks["share"] >= FAILED_SHARE)


def is_untrusted(person: Mapping[str, Any]) -> bool:
    """Flag participants with no person's input in at least half of 20 or more votes whose input is known."""
    signs = person["signs"]
    return bool(signs["known"] >= FEWEST_VOTES and signs["share"] >= UNTRUSTED_SHARE)


def title(name: str) -> str:
    """Return the flag in a word or two, in the reader's language."""
    return {
        TOO_FAST: _("too fast"),
        STRAIGHT_LINING: _("always the same answers"),
        ALWAYS_ALONE: _("always alone"),
        FAILS_CHECKS: _("fails checks"),
        UNTRUSTED: _("no trusted input"),
    }[name]
