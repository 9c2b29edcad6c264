"""What we have decided about pieces of work, or paid for them: one rule for all who ask. Reads only."""

from __future__ import annotations

from collections.abc import Iterable

from django.db.models import Exists, OuterRef, Q, QuerySet

from recruitment.models import Payment, Submission
from recruitment.reconciliation.plan import Decision

Kind, State = Payment.Kind, Payment.State
DECISIONS = (Kind.APPROVAL, Kind.REJECTION)
APPROVING = (Kind.APPROVAL, Kind.OVERTURN)
STANDING = Q(kind__in=[*DECISIONS, Kind.OVERTURN]) & ~Q(state__in=[State.FAILED, State.WITHDRAWN])
"""What the platform has carried out of our decisions, or has not refused so far; also its own approval."""
_made = Q(kind__in=[*DECISIONS, Kind.OUTSIDE]) & ~Q(state=State.WITHDRAWN) | Q(
    kind=Kind.OVERTURN, state=State.DONE
)
_instead = ~Q(state=State.FAILED)
"""Of a bonus for other work, which is no bonus for this one if the platform refused it."""


def decision_of(submission: Submission) -> Decision | None:
    """What was decided about one piece of work; None while it waits."""
    return decisions_of([submission.pk])[submission.pk]


def decisions_of(submissions: Iterable[int]) -> dict[int, Decision | None]:
    """The same of several, by their ids. One query."""
    found: dict[int, list[Payment]] = {pk: [] for pk in submissions}
    payments = Payment.objects.filter(_made & Q(submission__in=found) | _instead & Q(in_place_of__in=found))
    for payment in payments:
        about = payment.in_place_of_id or payment.submission_id
        found[about].append(payment)
    return {pk: _come_to(theirs) for pk, theirs in found.items()}


def decided_about(submission: OuterRef) -> QuerySet[Payment]:
    """The payments by which a piece of work is decided, also those that were refused, or paid otherwise."""
    return Payment.objects.filter(_made & Q(submission=submission) | _instead & Q(in_place_of=submission))


def standing_decisions(submission: Submission | OuterRef) -> QuerySet[Payment]:
    """The payments of a piece of work that are :data:`STANDING`.

    One at the most, or what overturns our rejection before it: the platform's own approval, or one of ours.
    """
    return Payment.objects.filter(STANDING, submission=submission).order_by("-decided_there", "-pk")


def topped_up(submission: Submission | OuterRef) -> QuerySet[Payment]:
    """The payments that top a piece of work up, or are going to, also in another way than by the platform."""
    # Until payments named what they repeat, the amount told it.
    refused = Payment.objects.filter(
        submission=OuterRef("submission"),
        amount=OuterRef("amount"),
        pk__lt=OuterRef("pk"),
        kind=Kind.TOP_UP,
        state=State.FAILED,
    )
    outside = Q(repeats__kind=Kind.TOP_UP) | Q(Exists(refused), repeats=None)
    by_platform = Q(kind=Kind.TOP_UP) & ~Q(state=State.FAILED)
    return Payment.objects.filter(by_platform | Q(kind=Kind.OUTSIDE) & outside, submission=submission)


def overturned_otherwise(submissions: Iterable[int]) -> QuerySet[Payment]:
    """What was paid in another way because the platform refused to overturn the rejection of the work."""
    return Payment.objects.filter(submission__in=submissions, kind=Kind.OUTSIDE, repeats__kind=Kind.OVERTURN)


def _come_to(found: list[Payment]) -> Decision | None:
    standing = [one for one in found if one.state != State.FAILED]
    kinds = {one.kind for one in standing}
    if kinds & {*APPROVING}:  # also the platform's own, after a rejection of ours
        return Decision.APPROVED
    if Kind.REJECTION in kinds:
        return Decision.REJECTED
    if standing:
        return Decision.PAID_OTHERWISE
    return Decision.REFUSED if found else None
