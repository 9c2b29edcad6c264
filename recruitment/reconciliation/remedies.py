"""What can be done about a difference with a platform. Pure functions of plain values."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from recruitment.marketplace import Status
from recruitment.reconciliation.plan import Decision


class Way(enum.StrEnum):
    """One thing that a researcher can do about a difference."""

    SETTLE = "settle"
    """Note how it was dealt with, and nothing else."""
    CONFIRM = "confirm"
    """Let the votes count; where the campaign approves by itself, that pays work that was handed in."""
    APPROVE = "approve"
    REJECT = "reject"
    OVERTURN = "overturn"
    """Pay what was rejected there, and let its votes count."""
    BONUS = "bonus"
    """Pay a bonus for this work, though it can never be approved."""
    OTHER_BONUS = "other_bonus"
    """Pay a bonus for other work of the person that was approved: the platform does not list this one."""
    OUTSIDE = "outside"
    """Note that the person was paid in another way, since the platform cannot pay them for this work."""


PAYING = (Way.BONUS, Way.OTHER_BONUS, Way.OUTSIDE)
NO_DATA, NOT_HANDED_IN, PARTIAL, TWO_VISITS = "no_data", "not_handed_in", "partial", "two_visits"
_UNFINISHED = (Status.RETURNED, Status.TIMED_OUT)
_NOT_LISTED = (None, Status.ACTIVE, Status.UNKNOWN)


@dataclass(frozen=True, slots=True)
class Case:
    """A difference as it stands. ``status``: what the platform says of the work; None if nothing.

    ``session``: the state of the work session here; empty where nothing of the work is here.
    ``decision``: ours, whether or not the platform has carried it out. ``has_answers``: there is something
    here that could count.
    """

    kind: str
    status: Status | None
    session: str
    decision: Decision | None
    is_forgotten: bool
    has_other_approved_work: bool
    has_answers: bool = True
    is_overturned_otherwise: bool = False
    """The platform refused to overturn the rejection, and the person was paid in another way."""


def ways_of(case: Case) -> list[Way]:
    """Everything that can be done, in the order in which it is shown.

    Nobody can tell the platform anything about who has been forgotten: that is left to its own pages.
    """
    ways = [Way.SETTLE]
    if case.kind == TWO_VISITS:  # it is about the person: whose work it is is said there
        return ways
    is_rejected = case.status == Status.REJECTED or case.decision == Decision.REJECTED
    can_count = case.session in ("open", "doubted") and (case.has_answers or case.kind != NO_DATA)
    if can_count and case.kind != PARTIAL and not is_rejected:
        ways.append(Way.CONFIRM)
    if case.status == Status.REJECTED and not case.is_forgotten and not case.is_overturned_otherwise:
        ways.append(Way.OVERTURN)
    is_decided = case.decision in (Decision.APPROVED, Decision.REJECTED)
    if case.status == Status.SUBMITTED and not is_decided and not case.is_forgotten:
        ways += [Way.APPROVE, Way.REJECT]
    return ways + (_paying(case) if case.session else [])


def _paying(case: Case) -> list[Way]:
    """How somebody is paid for work that cannot be approved."""
    if case.status in _UNFINISHED:
        return [Way.OUTSIDE if case.is_forgotten else Way.BONUS]
    if case.kind != NOT_HANDED_IN or case.status not in _NOT_LISTED:
        return []
    if case.has_other_approved_work and not case.is_forgotten:
        return [Way.OTHER_BONUS, Way.OUTSIDE]
    return [Way.OUTSIDE]
