"""Our decisions about submissions, and payments for them: one rule for all callers. Reads only."""

from collections.abc import Iterable

from django.db.models import OuterRef, Q, QuerySet

from recruitment.models import Payment, Submission
from recruitment.models.payments import DECIDING, ELSEWHERE
from recruitment.reconciliation.plan import Decision

Kind, State = Payment.Kind, Payment.State
DECISIONS = (Kind.APPROVAL, Kind.REJECTION)
APPROVING = (Kind.APPROVAL, Kind.OVERTURN)
STANDING = Q(kind__in=[*DECISIONS, Kind.OVERTURN]) & ~Q(state__in=[State.FAILED, State.WITHDRAWN])
"""Decisions that the platform has carried out or not refused so far; also its own approval."""


def decision_of(submission: Submission) -> Decision | None:
    """Return the decision about one submission; None while it waits."""
    return decisions_of([submission.pk])[submission.pk]


def decisions_of(submissions: Iterable[int]) -> dict[int, Decision | None]:
    """Return the decisions about several submissions, by their ids. One query."""
    found: dict[int, list[Payment]] = {pk: [] for pk in submissions}
    payments = Payment.objects.filter(DECIDING & Q(submission__in=found) | ELSEWHERE & Q(pays_for__in=found))
    for payment in payments:
        about = payment.pays_for_id or payment.submission_id
        found[about].append(payment)
    return {pk: _decision_from(theirs) for pk, theirs in found.items()}


def standing_decisions(submission: Submission | OuterRef) -> QuerySet[Payment]:
    """Return the payments of a submission that are :data:`STANDING`.

    One at the most, or what overturns our rejection before it: the platform's own approval, or one of ours.
    """
    return Payment.objects.filter(STANDING, submission=submission).order_by("-decided_by_platform", "-pk")


def topped_up(submission: Submission | OuterRef) -> QuerySet[Payment]:
    """Return the payments that top a submission up, or are going to, also outside the platform."""
    outside = Q(kind=Kind.OUTSIDE, repeats__kind=Kind.TOP_UP)
    by_platform = Q(kind=Kind.TOP_UP) & ~Q(state=State.FAILED)
    return Payment.objects.filter(by_platform | outside, submission=submission)


def overturned_outside(submissions: Iterable[int]) -> QuerySet[Payment]:
    """Return payments made in another way because the platform refused to overturn the rejection."""
    return Payment.objects.filter(submission__in=submissions, kind=Kind.OUTSIDE, repeats__kind=Kind.OVERTURN)


def _decision_from(found: list[Payment]) -> Decision | None:
    standing = [one for one in found if one.state != State.FAILED]
    kinds = {one.kind for one in standing}
    if kinds & {*APPROVING}:  # also the platform's own, after a rejection of ours
        return Decision.APPROVED
    if Kind.REJECTION in kinds:
        return Decision.REJECTED
    if standing:
        return Decision.PAID_OTHERWISE
    return Decision.REFUSED if found else None
