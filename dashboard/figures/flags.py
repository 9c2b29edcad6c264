"""What in a person's figures is worth a look. Pure rules with stated thresholds; none of them is a verdict.

A flag asks a researcher to look at the evidence. Nothing happens to anybody because of one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

TOO_FAST = "too_fast"
STRAIGHT_LINING = "straight_lining"
ALWAYS_ALONE = "always_alone"
FAILS_CHECKS = "fails_checks"

FEWEST_VOTES = 20
"""Of fewer votes nothing is said: a few odd ones are chance."""
FAST_SHARE = 1 / 3
"""Of the median time of all votes; a third of the median is the usual mark for people who speed."""
SAME_SHARE = 0.9
"""Of a person's votes that are one and the same form …"""
SAME_MORE = 0.2
"""… when everybody else hands that form in in a share of votes smaller by this."""
ALONE_SHARE = 0.1
"""Of a person's votes in which only they object …"""
ALONE_TIMES = 3
"""… when that is so many times the share in everybody else's votes."""

FEWEST_CHECKS = 3
"""Of fewer hidden checks nothing is said either."""
FAILED_SHARE = 1 / 3
"""Of a person's hidden checks that they failed; unlike the study's own thresholds, it has no consequence."""


def raised(person: Mapping[str, Any], median_seconds: float | None) -> list[str]:
    """The names of the flags of a person of :meth:`~dashboard.figures.people.PeopleTally.document`.

    ``median_seconds`` is that of all votes of the study.
    """
    rules = {
        TOO_FAST: is_too_fast(person, median_seconds),
        STRAIGHT_LINING: is_straight_lining(person),
        ALWAYS_ALONE: is_always_alone(person),
    }
    return [name for name, holds in rules.items() if holds]


def is_too_fast(person: Mapping[str, Any], median_seconds: float | None) -> bool:
    """Half of at least 20 votes took less than a third of the time that all votes took in the median."""
    if median_seconds is None or person["votes"] < FEWEST_VOTES:
        return False
    return bool(person["median_seconds"] < FAST_SHARE * median_seconds)


def is_straight_lining(person: Mapping[str, Any]) -> bool:
    """At least 90 % of 20 votes or more are one form, which others hand in less often by 20 points or more.

    Most stories may deserve the same form; so it is compared with how often the others hand it in.
    """
    others = person["same_share_others"]
    if others is None or person["votes"] < FEWEST_VOTES:
        return False
    return bool(person["same_share"] >= SAME_SHARE and person["same_share"] - others >= SAME_MORE)


def is_always_alone(person: Mapping[str, Any]) -> bool:
    """Of at least 20 votes on complete stories the person alone objects in 10 %, thrice the others' share."""
    others = person["alone_share_others"]
    if others is None or person["compared"] < FEWEST_VOTES:
        return False
    return bool(person["alone_share"] >= ALONE_SHARE and person["alone_share"] >= ALONE_TIMES * others)


def fails_checks(person: Mapping[str, Any]) -> bool:
    """At least a third of three or more hidden checks were failed."""
    checks = person["checks"]
    return bool(checks["answered"] >= FEWEST_CHECKS and checks["share"] >= FAILED_SHARE)


def title(name: str) -> str:
    """The flag in a word or two, in the reader's language."""
    return {
        TOO_FAST: _("too fast"),
        STRAIGHT_LINING: _("always the same form"),
        ALWAYS_ALONE: _("always alone"),
        FAILS_CHECKS: _("fails checks"),
    }[name]


def explained(name: str, person: Mapping[str, Any], median_seconds: float | None) -> str:
    """Why the flag is raised for this person: their figure, everybody's, and the threshold."""
    if name == TOO_FAST:
        return _(
            "Half of their votes took less than %(own)s seconds; over all votes the median is %(all)s. The "
            "flag is raised below a third of that, from %(fewest)s votes on."
        ) % {"own": person["median_seconds"], "all": median_seconds, "fewest": FEWEST_VOTES}
    if name == STRAIGHT_LINING:
        return _(
            "%(own)s %% of their votes are one and the same form; in everybody else’s it is %(others)s %%. "
            "The flag is raised from %(share)s %% on, if that is %(more)s points more than the others’, from "
            "%(fewest)s votes on."
        ) % {
            "own": round(100 * person["same_share"]),
            "others": round(100 * person["same_share_others"]),
            "share": round(100 * SAME_SHARE),
            "more": round(100 * SAME_MORE),
            "fewest": FEWEST_VOTES,
        }
    if name == FAILS_CHECKS:
        return _(
            "They failed %(failed)s of %(answered)s hidden checks (%(own)s %%). The flag is raised from a "
            "third on, if there were %(fewest)s or more."
        ) % {
            "failed": person["checks"]["failed"],
            "answered": person["checks"]["answered"],
            "own": round(100 * person["checks"]["share"]),
            "fewest": FEWEST_CHECKS,
        }
    return _(
        "They alone objected to %(alone)s of %(compared)s complete stories they answered (%(own)s %%); in "
        "everybody else’s votes it is %(others)s %%. The flag is raised from %(share)s %% on, if that is "
        "%(times)s times the others’, from %(fewest)s stories on."
    ) % {
        "alone": person["alone"],
        "compared": person["compared"],
        "own": round(100 * person["alone_share"]),
        "others": round(100 * person["alone_share_others"], 1),
        "share": round(100 * ALONE_SHARE),
        "times": ALONE_TIMES,
        "fewest": FEWEST_VOTES,
    }
