"""Remedies for a mismatch with a platform. Pure functions of plain values."""

import enum
from dataclasses import dataclass

from recruitment.marketplace import NEVER_APPROVED, MismatchKind, Status
from recruitment.reconciliation.plan import Decision


class Remedy(enum.StrEnum):
    """A remedy that a researcher can choose for a mismatch."""

    SETTLE = "settle"
    """Note how it was dealt with, and nothing else."""
    CONFIRM = "confirm"
    """Let the votes count; where the campaign approves by itself, that pays work that was handed in."""
    APPROVE = "approve"
    REJECT = "reject"
    OVERTURN = "overturn"
    """Pay what was rejected there, and let its votes count."""
    BONUS = "bonus"
    """Pay a bonus for work that can never be approved. If the platform does not list it, other approved work
    of the person carries the bonus."""
    OUTSIDE = "outside"
    """Note that the person was paid in another way, since the platform cannot pay them for this work."""


PAYING = (Remedy.BONUS, Remedy.OUTSIDE)
_NOT_LISTED = (None, Status.ACTIVE, Status.UNKNOWN)


@dataclass(frozen=True, slots=True)
class Case:
    """A mismatch as it stands. ``status``: the platform's word on the submission; None if nothing.

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
    is_overturned_outside: bool = False
    """The platform refused to overturn the rejection, and the person was paid in another way."""


def remedies_of(case: Case) -> list[Remedy]:
    """Return every remedy that is open, in the order in which it is shown.

    Nobody can tell the platform anything about who has been forgotten: that is left to its own pages.
    """
    ways = [Remedy.SETTLE]
    is_rejected = case.status == Status.REJECTED or case.decision == Decision.REJECTED
    can_count = case.session in ("open", "doubted") and (
        case.has_answers or case.kind != MismatchKind.NO_DATA
    )
    if can_count and case.kind != MismatchKind.PARTIAL and not is_rejected:
        ways.append(Remedy.CONFIRM)
    if case.status == Status.REJECTED and not case.is_forgotten and not case.is_overturned_outside:
        ways.append(Remedy.OVERTURN)
    is_decided = case.decision in (Decision.APPROVED, Decision.REJECTED)
    if case.status == Status.SUBMITTED and not is_decided and not case.is_forgotten:
        ways += [Remedy.APPROVE, Remedy.REJECT]
    return ways + (_paying(case) if case.session else [])


def _paying(case: Case) -> list[Remedy]:
    """Return the remedies that pay for work that cannot be approved."""
    if case.status in NEVER_APPROVED:
        return [Remedy.OUTSIDE if case.is_forgotten else Remedy.BONUS]
    if case.kind != MismatchKind.NOT_HANDED_IN or case.status not in _NOT_LISTED:
        return []
    if case.has_other_approved_work and not case.is_forgotten:
        return [Remedy.BONUS, Remedy.OUTSIDE]
    return [Remedy.OUTSIDE]
