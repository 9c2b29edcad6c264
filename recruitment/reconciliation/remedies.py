"""Remedies for a mismatch with a platform, and mismatches described as their remedies need. Reads only."""

import enum
from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import QuerySet

from accounts.models import Annotator
from recruitment.marketplace import NEVER_APPROVED, MismatchKind, Status
from recruitment.models import Mismatch, Submission, Visit
from recruitment.reconciliation.plan import Decision
from recruitment.reconciliation.queries import decisions_of, overturned_outside


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
    """Note that the person was paid outside the platform, which cannot pay them for this work."""


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
    """The platform refused to overturn the rejection, and the person was paid outside it."""


def remedies_of(case: Case) -> list[Remedy]:
    """Return every possible remedy, in the order in which they are shown.

    Without a person's deleted id nothing can be sent to the platform; only its own pages can decide then.
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


def visit_of_mismatch(mismatch: Mismatch) -> Visit | None:
    """Return the visit that the mismatch is about; None for work without one."""
    return mismatch.visit or (mismatch.submission.visit if mismatch.submission else None)


def cases_of(mismatches: Sequence[Mismatch]) -> dict[int, Case]:
    """Return the cases of mismatches, by their ids.

    They must carry their submissions, visits, sessions and people.
    """
    works = [found.submission_id for found in mismatches if found.submission_id]
    decisions, overturned = decisions_of(works), overturned_outside(works)
    otherwise = set(overturned.values_list("submission_id", flat=True)) if works else set()
    others = set(approved_beside(mismatches).values_list("campaign__study", "annotator"))
    cases = {}
    for mismatch in mismatches:
        submission, visit = mismatch.submission, visit_of_mismatch(mismatch)
        person = person_of_mismatch(mismatch)
        cases[mismatch.pk] = Case(
            kind=mismatch.kind,
            status=Status(submission.status) if submission else None,
            session=visit.session.state if visit and visit.session else "",
            decision=decisions[submission.pk] if submission else None,
            has_answers=bool(visit and has_answers(visit)),
            is_forgotten=person.erased_at is not None,
            is_overturned_outside=mismatch.submission_id in otherwise,
            has_other_approved_work=(mismatch.campaign.study_id, person.pk) in others,
        )
    return cases


def has_answers(visit: Visit) -> bool:
    """Return True if a story was answered in the visit, or its last page reached (of a test: handed in)."""
    session = visit.session
    return visit.handed_in_at is not None or bool(session and session.stories_submitted)


def person_of_mismatch(mismatch: Mismatch) -> Annotator:
    """Return the person whose work the mismatch is about."""
    if mismatch.submission:
        return mismatch.submission.annotator
    assert mismatch.visit is not None  # the database asks for one of the two
    return mismatch.visit.enrollment.annotator


def approved_beside(mismatches: Sequence[Mismatch]) -> QuerySet[Submission]:
    """Return the approved submissions of the people, and in the studies, that mismatches are about."""
    return Submission.objects.filter(
        campaign__study__in={found.campaign.study_id for found in mismatches},
        platform__in={found.campaign.platform for found in mismatches},
        annotator__in={person_of_mismatch(found).pk for found in mismatches},
        status=Submission.Status.APPROVED,
    )
