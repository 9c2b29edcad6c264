"""Differences with a platform as what can be done about each follows. Reads only."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import QuerySet

from accounts.models import Annotator
from recruitment.marketplace import Status
from recruitment.models import Difference, Submission, Visit
from recruitment.reconciliation.decisions import decisions_of, overturned_otherwise
from recruitment.reconciliation.plan import Decision
from recruitment.reconciliation.remedies import Case


def visit_of_difference(difference: Difference) -> Visit | None:
    """The visit that it is about; None for work of which nothing is here."""
    return difference.visit or (difference.submission.visit if difference.submission else None)


def other_approved_work(difference: Difference) -> Submission | None:
    """The newest work of the same person in the study that the platform has approved."""
    return _approved_beside([difference]).order_by("-pk").first()


def cases_of(differences: Sequence[Difference]) -> dict[int, Case]:
    """Differences as what can be done about them follows, by their ids.

    They must carry their submissions, visits, sessions and people.
    """
    works = [found.submission_id for found in differences if found.submission_id]
    decisions, overturned = decisions_of(works), overturned_otherwise(works)
    otherwise = set(overturned.values_list("submission_id", flat=True)) if works else set()
    others = set(_approved_beside(differences).values_list("campaign__study", "annotator"))
    return {found.pk: _case(found, decisions, others, otherwise) for found in differences}


def _case(
    difference: Difference,
    decisions: dict[int, Decision | None],
    others: set[tuple[int, int]],
    otherwise: set[int],
) -> Case:
    submission, visit = difference.submission, visit_of_difference(difference)
    person = person_of_difference(difference)
    return Case(
        kind=difference.kind,
        status=Status(submission.status) if submission else None,
        session=visit.session.state if visit and visit.session else "",
        decision=decisions[submission.pk] if submission else None,
        has_answers=bool(visit and has_answers(visit)),
        is_forgotten=person.erased_at is not None,
        is_overturned_otherwise=difference.submission_id in otherwise,
        has_other_approved_work=(difference.campaign.study_id, person.pk) in others,
    )


def has_answers(visit: Visit) -> bool:
    """Whether a story was answered in it, or its last page was reached: of a test, that it was handed in."""
    session = visit.session
    return visit.handed_in_at is not None or bool(session and session.stories_submitted)


def person_of_difference(difference: Difference) -> Annotator:
    """Whose work it is about."""
    if difference.submission:
        return difference.submission.annotator
    assert difference.visit is not None  # the database asks for one of the two
    return difference.visit.enrollment.annotator


def _approved_beside(differences: Sequence[Difference]) -> QuerySet[Submission]:
    """Approved work of the people and in the studies that differences are about."""
    return Submission.objects.filter(
        campaign__study__in={found.campaign.study_id for found in differences},
        platform__in={found.campaign.platform for found in differences},
        annotator__in={person_of_difference(found).pk for found in differences},
        status=Submission.Status.APPROVED,
    )
