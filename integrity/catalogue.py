"""All checks: every invariant that can be verified in the stored rows.

Each check is a query in ``integrity/sql/``, or an entry in one of the modules here if SQL alone cannot
decide. ``manage.py check_integrity`` runs them all.
"""

from integrity import releases, votes
from integrity.base import Check, CheckOutcome, Offenders, read_checks, run

__all__ = ["CHECKS", "Check", "CheckOutcome", "Offenders", "run"]

TOPICS = (
    "slots", "votes", "reviews", "people", "recruitment",
    "qualification_rounds", "answer_keys", "hidden_checks", "releases", "audit_log",
)  # fmt: skip
"""The files of queries."""

CHECKS: tuple[Check, ...] = tuple(
    sorted(
        [*(check for topic in TOPICS for check in read_checks(topic)), *votes.CHECKS, *releases.CHECKS],
        key=lambda check: check.invariant,
    )
)
