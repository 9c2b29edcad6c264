"""Counts and sums of a study's campaigns, each in one query. Reads only."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from django.db.models import Count, Exists, IntegerField, Model, OuterRef, Q, QuerySet, Subquery, Sum, Value
from django.db.models.functions import Coalesce

from accounts.models import PlatformIdentity
from annotation.models import Assignment, Study, WorkSession
from annotation.rules import pseudonym
from recruitment.actions.payments import can_be_asked_again
from recruitment.models import Campaign, Difference, Grant, Payment, PaymentOrder, Submission, Visit
from recruitment.models.payments import NEVER_APPROVED
from recruitment.pay import HourlyPay
from recruitment.prolific.money import pay_warning
from recruitment.reconciliation.queries import HANDED_IN

NOTHING = Decimal("0.00")
NO_SIGN_FOR = timedelta(seconds=30)
"""After so long without a batch nobody is at an order of payments: a batch takes a fraction of a second."""


@dataclass(frozen=True, slots=True)
class Money:
    """Sums in a campaign's currency, without what the platform charges on top."""

    paid: Decimal
    """In all; ``outside`` of it in another way than by the platform."""
    outside: Decimal
    underway: Decimal
    refused: int
    """Payments that the platform refused."""


def campaigns_of(study: Study, *, now: datetime) -> QuerySet[Campaign]:
    """The study's campaigns with what came of them, the newest first.

    Each count is a query of its own over its own rows: joined, the rows of one would multiply the others'.
    """
    visits = Visit.objects.filter(campaign=OuterRef("pk"))
    confirmed = visits.filter(session__state=WorkSession.State.CONFIRMED)
    differences = Difference.objects.filter(campaign=OuterRef("pk"), settled_at=None)
    is_over = Q(state=Campaign.State.LIVE, offered_until__lte=now)
    return (
        Campaign.objects.filter(study=study)
        .annotate(
            arrived=_number_of(visits),
            confirmed=_number_of(confirmed),
            open_differences=_number_of(differences),
            offer_is_over=is_over,
        )
        .order_by("-number")
    )


def _number_of(rows: QuerySet[Model]) -> Coalesce:
    """How many rows there are of a campaign, as a column of it."""
    counted = rows.order_by().values("campaign").annotate(number=Count("pk")).values("number")
    return Coalesce(Subquery(counted, output_field=IntegerField()), Value(0))


def visits_by_state(campaign: Campaign) -> dict[str, int]:
    """How many of its visits are open, confirmed and doubted."""
    rows = campaign.visits.values_list("session__state").annotate(count=Count("pk"))
    found = dict(rows)
    return {state: found.get(state, 0) for state in WorkSession.State.values}


def submissions_by_status(campaign: Campaign) -> list[tuple[str, int]]:
    """What the platform says, as (words, count), in the order of the statuses."""
    found = dict(campaign.submissions.values_list("status").annotate(count=Count("pk")))
    return [(str(label), found[value]) for value, label in Submission.Status.choices if value in found]


def votes_waiting(study: Study) -> int:
    """Answers that hold a slot and will count once a platform has confirmed their visit."""
    return Assignment.objects.filter(
        enrollment__study=study, session__isnull=False, state=Assignment.State.PENDING
    ).count()


def money_of(campaign: Campaign) -> Money:
    """What was paid in a campaign and what is on its way."""
    State = Payment.State
    sums = Payment.objects.filter(submission__campaign=campaign).aggregate(
        paid=Sum("amount", filter=Q(state=State.DONE)),
        outside=Sum("amount", filter=Q(kind=Payment.Kind.OUTSIDE)),
        underway=Sum("amount", filter=Q(state__in=[State.REQUESTED, State.SENDING])),
        refused=Count("pk", filter=Q(state=State.FAILED)),
    )
    paid, outside = sums["paid"] or NOTHING, sums["outside"] or NOTHING
    return Money(paid, outside, sums["underway"] or NOTHING, sums["refused"])


@dataclass(frozen=True, slots=True)
class Underway:
    """An order of many payments that a worker is writing, or should be. ``sign``: of a worker, the last."""

    order: PaymentOrder
    waits: bool
    """No worker has taken it yet."""
    is_stalled: bool
    sign: datetime


def orders_underway(campaign: Campaign, *, now: datetime) -> list[Underway]:
    """The orders of the campaign that are not finished, and whether somebody seems to be at them."""
    found = []
    for order in campaign.payment_orders.filter(finished_at=None).select_related("requested_by"):
        sign = order.worked_at or order.requested_at
        found.append(Underway(order, order.worked_at is None, now - sign > NO_SIGN_FOR, sign))
    return found


def unpaid_and_forgotten(study: Study) -> int:
    """Payments that cannot arrive, because the person was forgotten before: due still, or refused."""
    theirs = Payment.objects.filter(
        submission__campaign__study=study, submission__annotator__erased_at__isnull=False
    ).exclude(kind=Payment.Kind.REJECTION)
    open_ones = theirs.exclude(state=Payment.State.DONE)
    return sum(payment.state != Payment.State.FAILED or can_be_asked_again(payment) for payment in open_ones)


def low_pay(campaign: Campaign, hourly: HourlyPay | None) -> str:
    """Why the platform would complain about the pay for the time that people really took; empty if not."""
    if hourly is None or campaign.platform != PlatformIdentity.Platform.PROLIFIC:
        return ""
    return pay_warning(campaign.reward, campaign.currency, hourly.median_seconds)


@dataclass(frozen=True, slots=True)
class Refused:
    """Memberships in our groups that the platform refused: how many, and what it said last."""

    number: int
    problem: str


def refused_grants(campaign: Campaign) -> Refused:
    """People who earned a group in the campaign and could not be put into it."""
    failed = campaign.grants.filter(state=Grant.State.FAILED).order_by("-pk")
    newest = failed.first()
    return Refused(failed.count(), newest.problem if newest else "")


def to_send_again(campaign: Campaign) -> int:
    """What waits for credentials or money, and the approvals and qualifications that were refused."""
    payments = Payment.objects.filter(submission__campaign=campaign)
    newer = Payment.objects.filter(
        submission=OuterRef("submission"), kind__in=["approval", "rejection"], pk__gt=OuterRef("pk")
    )
    refused = payments.filter(~Exists(newer), kind="approval", state="failed")
    waiting = payments.filter(state__in=["requested", "sending"], next_try_at__isnull=False)
    unsent = Q(state__in=["requested", "leaving"], next_try_at__isnull=False)
    grants = campaign.grants.filter(unsent | Q(state="failed", kind="qualified"))
    return refused.count() + waiting.count() + grants.count()


def work_of(campaign: Campaign) -> QuerySet[Submission]:
    """What was handed in on the platform, or answered here and then returned there or left to run out.

    Each with its visit and payments; what waits for a decision first.
    """
    decided = Payment.objects.filter(submission=OuterRef("pk"), kind__in=["approval", "rejection"]).exclude(
        kind="rejection",
        state="failed",  # taken back, or refused: it waits again
    )
    return (
        Submission.objects.filter(
            Q(status__in=HANDED_IN) | Q(status__in=NEVER_APPROVED, visit__session__stories_submitted__gt=0),
            campaign=campaign,
        )
        .annotate(waits=Q(status=Submission.Status.SUBMITTED) & ~Exists(decided))
        .select_related("campaign", "visit__session")
        .prefetch_related("payments")
        .order_by("-waits", "-pk")
    )


def open_differences(study: Study) -> QuerySet[Difference]:
    """What is still to be dealt with, in all campaigns of the study, the oldest first."""
    return (
        Difference.objects.filter(campaign__study=study, settled_at=None)
        .select_related(
            "campaign",
            "visit__session",
            "visit__enrollment__annotator",
            "submission__visit__session",
            "submission__annotator",
        )
        .order_by("pk")
    )


PAYMENT_COLUMNS = (
    "annotator",
    "campaign",
    "platform",
    "work",
    "kind",
    "amount",
    "currency",
    "state",
    "requested_at",
    "settled_at",
    "problem",
)


def payment_rows(study: Study) -> Iterator[dict[str, Any]]:
    """Every payment of the study under pseudonyms, the oldest first, for a table."""
    payments = (
        Payment.objects.filter(submission__campaign__study=study)
        .select_related("submission__campaign")
        .order_by("pk")
    )
    for payment in payments.iterator():
        submission = payment.submission
        yield {
            "annotator": pseudonym(study.pseudonym_key, submission.annotator_id),
            "campaign": submission.campaign.number,
            "platform": submission.platform,
            "work": submission.pk,
            "kind": payment.kind,
            "amount": str(payment.amount),
            "currency": payment.currency,
            "state": payment.state,
            "requested_at": payment.requested_at.isoformat(),
            "settled_at": payment.settled_at.isoformat() if payment.settled_at else "",
            "problem": payment.problem,
        }
