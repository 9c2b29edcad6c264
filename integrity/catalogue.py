"""All checks: queries in ``integrity/sql/``, and functions in the modules here if SQL alone cannot decide."""

from integrity import releases, votes
from integrity.base import Check, CheckOutcome, Offenders, read_checks, run

__all__ = ["CHECKS", "Check", "CheckOutcome", "Offenders", "run"]

TOPICS = (
    "slots", "votes", "reviews", "people", "recruitment",
    "qualification_rounds", "answer_keys", "hidden_checks", "releases", "audit_log",
)  # fmt: skip
"""The files of queries."""

_MISSING = """SELECT study_id, row FROM ({}) x WHERE NOT EXISTS (
    SELECT FROM annotation_event ev
    WHERE ev.study_id = x.study_id AND ev.type = x.type AND ev.subject = x.subject)"""
LOGGED = tuple(read_checks("logged", within=_MISSING))
"""Events that the log must have."""
_WALKING = [one for module in (votes, releases) for one in vars(module).values() if isinstance(one, Check)]
CHECKS: tuple[Check, ...] = tuple(
    sorted(
        [*(check for topic in TOPICS for check in read_checks(topic)), *LOGGED, *_WALKING],
        key=lambda check: check.invariant,
    )
)
