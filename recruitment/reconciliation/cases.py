"""Mismatches with a platform, described as their remedies need. Reads only."""

from collections.abc import Sequence

from django.db.models import QuerySet

from accounts.models import Annotator
from recruitment.marketplace import Status
from recruitment.models import Mismatch, Submission, Visit
from recruitment.reconciliation.decisions import decisions_of, overturned_outside
from recruitment.reconciliation.plan import Decision
from recruitment.reconciliation.remedies import Case


def visit_of_mismatch(mismatch: Mismatch) -> Visit | None:
    """Return the visit that the mismatch is about; None for work without one."""
    return mismatch.visit or (mismatch.submission.visit if mismatch.submission else None)


def other_approved_work(mismatch: Mismatch) -> Submission | None:
    """Return the same person's newest submission in the study that the platform approved."""
    return _approved_beside([mismatch]).order_by("-pk").first()


def cases_of(mismatches: Sequence[Mismatch]) -> dict[int, Case]:
    """Return the cases of mismatches, by their ids.

    They must carry their submissions, visits, sessions and people.
    """
    works = [found.submission_id for found in mismatches if found.submission_id]
    decisions, overturned = decisions_of(works), overturned_outside(works)
    otherwise = set(overturned.values_list("submission_id", flat=True)) if works else set()
    others = set(_approved_beside(mismatches).values_list("campaign__study", "annotator"))
    return {found.pk: _case(found, decisions, others, otherwise) for found in mismatches}


def _case(
    mismatch: Mismatch,
    decisions: dict[int, Decision | None],
    others: set[tuple[int, int]],
    otherwise: set[int],
) -> Case:
    submission, visit = mismatch.submission, visit_of_mismatch(mismatch)
    person = person_of_mismatch(mismatch)
    return Case(
        kind=mismatch.kind,
        status=Status(submission.status) if submission else None,
        session=visit.session.state if visit and visit.session else "",
        decision=decisions[submission.pk] if submission else None,
        has_answers=bool(visit and has_answers(visit)),
        is_forgotten=person.erased_at is not None,
        is_overturned_outside=mismatch.submission_id in otherwise,
        has_other_approved_work=(mismatch.campaign.study_id, person.pk) in others,
    )


def has_answers(visit: Visit) -> bool:
    """Tell whether a story was answered in the visit, or its last page reached (of a test: handed in)."""
    session = visit.session
    return visit.handed_in_at is not None or bool(session and session.stories_submitted)


def person_of_mismatch(mismatch: Mismatch) -> Annotator:
    """Return the person whose work the mismatch is about."""
    if mismatch.submission:
        return mismatch.submission.annotator
    assert mismatch.visit is not None  # the database asks for one of the two
    return mismatch.visit.enrollment.annotator


def _approved_beside(mismatches: Sequence[Mismatch]) -> QuerySet[Submission]:
    """Approved work of the people and in the studies that mismatches are about."""
    return Submission.objects.filter(
        campaign__study__in={found.campaign.study_id for found in mismatches},
        platform__in={found.campaign.platform for found in mismatches},
        annotator__in={person_of_mismatch(found).pk for found in mismatches},
        status=Submission.Status.APPROVED,
    )
