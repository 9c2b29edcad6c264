"""Queries about payments: sums, what can be retried, rows for a table, and hourly earnings."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Any

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Sum

from annotation.models import Enrollment, Study
from annotation.rules import CENT, pseudonym
from dashboard.recruitment.queries.campaigns import cached, size_of
from recruitment.models import Campaign, Payment, Visit

NOTHING = Decimal("0.00")


@dataclass(frozen=True, slots=True)
class Money:
    """Sums in a campaign's currency, without the platform's fees."""

    paid: Decimal
    """In all, including ``outside`` (not through the platform) and ``there`` (by the platform on its own)."""
    outside: Decimal
    there: Decimal
    underway: Decimal
    refused: int
    """Number of payments that the platform refused."""


NO_MONEY = Money(NOTHING, NOTHING, NOTHING, NOTHING, 0)


def money_of(campaign: Campaign) -> Money:
    """Return what was paid in a campaign, and what is on its way."""
    return _sums(Payment.objects.filter(submission__campaign=campaign)).get(campaign.pk, NO_MONEY)


def sums_by_campaign(study: Study) -> list[tuple[Campaign, Money, int]]:
    """Return each campaign with its sums, and how many of its payments and grants can be retried.

    Sums of a large study may be up to a minute old.
    """
    paid = Payment.objects.filter(submission__campaign__study=study)
    money = cached(study, "money", lambda _study: _sums(paid), size=size_of(study))
    retryable = retryable_by_campaign(study)
    return [
        (campaign, money.get(campaign.pk, NO_MONEY), retryable[campaign.pk])
        for campaign in study.campaigns.order_by("number")
    ]


def _sums(payments: QuerySet[Payment]) -> dict[int, Money]:
    State = Payment.State
    sums = (
        payments.order_by()
        .values_list("submission__campaign")
        .annotate(
            paid=Sum("amount", filter=Q(state=State.DONE), default=NOTHING),
            outside=Sum("amount", filter=Q(kind=Payment.Kind.OUTSIDE), default=NOTHING),
            there=Sum("amount", filter=Q(decided_by_platform=True), default=NOTHING),
            underway=Sum("amount", filter=Q(state__in=Payment.UNSETTLED), default=NOTHING),
            refused=Count("pk", filter=Q(state=State.FAILED)),
        )
    )
    return {campaign: Money(*found) for campaign, *found in sums}


def unpaid_to_forgotten(study: Study) -> int:
    """Count the unpaid payments, due or refused, to people whose personal data are deleted."""
    theirs = Payment.objects.filter(
        submission__campaign__study=study, submission__annotator__erased_at__isnull=False
    ).exclude(kind=Payment.Kind.REJECTION)
    due = theirs.filter(state__in=Payment.UNSETTLED)
    return due.count() + theirs.retryable().count()


def retryable_by_campaign(study: Study) -> Counter[int]:
    """Count, by campaign, what waits for credentials or money, and refused approvals and grants.

    Approvals for forgotten people are left out: without their id the platform cannot be told.
    """
    payments = Payment.objects.filter(submission__campaign__study=study)
    refused = payments.filter(submission__annotator__erased_at=None, kind="approval").retryable()
    waiting = payments.filter(state__in=Payment.UNSETTLED, waits_since__isnull=False)
    unsent = Q(state__in=["requested", "leaving"], waits_since__isnull=False)
    grants = study.grants.filter(unsent | Q(state="failed", kind="qualified"))
    found: Counter[int] = Counter()
    for rows in (
        refused.values_list("submission__campaign"),
        waiting.values_list("submission__campaign"),
        grants.values_list("campaign"),
    ):
        found.update(dict(rows.order_by().annotate(number=Count("pk"))))
    return found


PAYMENT_COLUMNS = {
    "annotator": "submission__annotator",
    "campaign": "submission__campaign__number",
    "platform": "submission__platform",
    "work": "submission",
    "kind": "kind",
    "amount": "amount",
    "currency": "currency",
    "state": "state",
    "decided_by_platform": "decided_by_platform",
    "requested_at": "requested_at",
    "settled_at": "settled_at",
    "problem": "problem",
}
"""Columns of the table of payments, with the fields that they show."""


def payment_rows(study: Study, only: Q | None = None) -> Iterator[dict[str, Any]]:
    """Yield the study's payments, or ``only`` some, under pseudonyms, the oldest first."""
    payments = Payment.objects.filter(only or Q(), submission__campaign__study=study).order_by("pk")
    for values in payments.values_list(*PAYMENT_COLUMNS.values()).iterator():
        row = dict(zip(PAYMENT_COLUMNS, values, strict=True))
        for name in ("requested_at", "settled_at"):
            row[name] = row[name].isoformat() if row[name] else ""
        name = pseudonym(study.pseudonym_key, row["annotator"])
        yield row | {"annotator": name, "amount": str(row["amount"])}


@dataclass(frozen=True, slots=True)
class Earned:
    """Pay in one currency, and the time from arrival to hand-in that it paid for."""

    amount: Decimal
    currency: str
    took: timedelta

    @property
    def per_hour(self) -> Decimal | None:
        """Return the hourly pay, or None if no time was measured."""
        hours = Decimal(str(self.took.total_seconds())) / 3600
        return (self.amount / hours).quantize(CENT) if hours else None


def earned_by(person: Enrollment) -> list[Earned]:
    """Return what the person was paid for stories, by currency, including payments outside the platform.

    Only handed-in visits count, since the others have no time, and only those with a settled payment.
    """
    return [earned for _name, earned in _earned(_settled().filter(enrollment=person))]


def earned_by_everybody(study: Study) -> dict[str, Earned]:
    """Return everybody's pay in the study's currency for stories, by pseudonym. Two queries."""
    return dict(_earned(_settled().filter(enrollment__study=study, campaign__currency=study.currency)))


def _earned(visits: QuerySet[Visit]) -> Iterator[tuple[str, Earned]]:
    """Yield the pay for these visits by pseudonym and currency."""
    took = F("handed_in_at") - F("arrived_at")
    times = visits.order_by().values_list("enrollment__pseudonym", "campaign__currency")
    measured = {(name, currency): sum for name, currency, sum in times.annotate(sum=Sum(took))}
    done = Payment.objects.filter(
        submission__visit__in=visits, state=Payment.State.DONE, currency=F("submission__campaign__currency")
    )
    sums = done.order_by().values_list("submission__visit__enrollment__pseudonym", "currency")
    for name, currency, paid in sums.annotate(paid=Sum("amount")):
        if paid:
            yield name, Earned(paid, currency, measured[name, currency])


def _settled() -> QuerySet[Visit]:
    """Return the handed-in visits for stories with a settled payment or rejection."""
    done = Payment.objects.filter(submission__visit=OuterRef("pk"), state=Payment.State.DONE)
    visits = Visit.objects.filter(campaign__purpose=Campaign.Purpose.STORIES, handed_in_at__isnull=False)
    return visits.filter(Exists(done))
