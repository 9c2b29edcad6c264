"""What a person has not been paid yet, for them to know before they ask to be forgotten. Reads only."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from django.db.models import Exists, OuterRef, Q

from accounts.models import Annotator
from annotation.models import WorkSession
from recruitment.models import Campaign, Payment, Submission, Visit
from recruitment.reconciliation.decisions import decided_about


@dataclass(frozen=True, slots=True)
class Unpaid:
    """Payments of one campaign that have not arrived, or for which nobody has decided yet."""

    campaign: Campaign
    number: int
    amount: Decimal


def unpaid_of(annotator: Annotator) -> list[Unpaid]:
    """What is still to come to a person, by campaign: work that waits, and payments on their way."""
    found: dict[Campaign, list[Decimal]] = {}
    for campaign, amount in [*_on_their_way(annotator), *_undecided(annotator), *_unconfirmed(annotator)]:
        found.setdefault(campaign, []).append(amount)
    return [Unpaid(campaign, len(amounts), sum(amounts, Decimal(0))) for campaign, amounts in found.items()]


Due = Iterable[tuple[Campaign, Decimal]]


def _on_their_way(annotator: Annotator) -> Due:
    payments = Payment.objects.filter(
        submission__annotator=annotator, state__in=[Payment.State.REQUESTED, Payment.State.SENDING]
    ).exclude(kind=Payment.Kind.REJECTION)
    for payment in payments.select_related("submission__campaign__study"):
        yield payment.submission.campaign, payment.amount


def _undecided(annotator: Annotator) -> Due:
    waiting = Submission.objects.filter(annotator=annotator, status=Submission.Status.SUBMITTED)
    waiting = waiting.filter(~Exists(decided_about(OuterRef("pk")).exclude(state=Payment.State.FAILED)))
    for submission in waiting.select_related("campaign__study"):
        yield submission.campaign, submission.campaign.reward


def _unconfirmed(annotator: Annotator) -> Due:
    """Work that they were sent to hand in, and of which the platform has not said anything yet."""
    not_listed = Q(submission=None) | Q(submission__status=Submission.Status.ACTIVE)
    visits = Visit.objects.filter(
        not_listed,
        enrollment__annotator=annotator,
        handed_in_at__isnull=False,
        session__state=WorkSession.State.OPEN,
    )
    for visit in visits.select_related("campaign__study"):
        assert visit.campaign is not None  # only such visits have a session
        yield visit.campaign, visit.campaign.reward
