"""Whether the promises hold in the stored rows: every invariant that the database can be asked about.

One check is one entry in one of the modules here. ``manage.py check_integrity`` runs them all.
"""

from __future__ import annotations

from dashboard.integrity import (
    checks,
    keys,
    log,
    people,
    recruiting,
    releases,
    reviews,
    revisions,
    rounds,
    sessions,
    slots,
    votes,
)
from dashboard.integrity.base import Check, Offenders, Outcome, run

__all__ = ["CHECKS", "Check", "Offenders", "Outcome", "run"]

CHECKS: tuple[Check, ...] = tuple(
    sorted(
        (
            *slots.CHECKS,
            *sessions.CHECKS,
            *votes.CHECKS,
            *revisions.CHECKS,
            *reviews.CHECKS,
            *people.CHECKS,
            *recruiting.CHECKS,
            *rounds.CHECKS,
            *keys.CHECKS,
            *checks.CHECKS,
            *releases.CHECKS,
            *log.CHECKS,
        ),
        key=lambda check: check.invariant,
    )
)
