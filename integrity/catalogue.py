"""All checks: every invariant that can be verified in the stored rows.

Each check is one entry in one of the modules here. ``manage.py check_integrity`` runs them all.
"""

from integrity import (
    answer_keys,
    audit_log,
    hidden_checks,
    people,
    qualification_rounds,
    recruitment,
    releases,
    reviews,
    slots,
    votes,
)
from integrity.base import Check, CheckResult, Offenders, run

__all__ = ["CHECKS", "Check", "CheckResult", "Offenders", "run"]

CHECKS: tuple[Check, ...] = tuple(
    sorted(
        (
            *slots.CHECKS,
            *votes.CHECKS,
            *reviews.CHECKS,
            *people.CHECKS,
            *recruitment.CHECKS,
            *qualification_rounds.CHECKS,
            *answer_keys.CHECKS,
            *hidden_checks.CHECKS,
            *releases.CHECKS,
            *audit_log.CHECKS,
        ),
        key=lambda check: check.invariant,
    )
)
