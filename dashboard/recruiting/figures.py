"""Counts and sums of a study's campaigns, each in one query. Reads only."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, TypeVar

from django.db.models import (
    Count,
    Exists,
    IntegerField,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Sum,
    Value,
    prefetch_related_objects,
)
from django.db.models.functions import Coalesce

from accounts.models import PlatformIdentity
from annotation.models import Assignment, Study, WorkSession
from annotation.rules import pseudonym
from dashboard.minute import kept_a_minute
from recruitment.actions.payments import can_be_asked_again
from recruitment.models import Campaign, Difference, Grant, Payment, PaymentOrder, Submission, Visit
from recruitment.models.payments import NEVER_APPROVED
from recruitment.pay import HourlyPay
from recruitment.prolific.money import pay_warning

NOTHING = Decimal("0.00")
NO_SIGN_FOR = timedelta(seconds=30)
"""After so long without a batch nobody is at an order of payments: a batch takes a fraction of a second."""


@dataclass(frozen=True, slots=True)
class Money:
    """Sums in a campaign's currency, without what the platform charges on top."""

    paid: Decimal
    """In all; ``outside`` of it in another way than by the platform, ``there`` by the platform without us."""
    outside: Decimal
    there: Decimal
    underway: Decimal
    refused: int
    """Payments that the platform refused."""


NO_MONEY = Money(NOTHING, NOTHING, NOTHING, NOTHING, 0)


T = TypeVar("T")
MANY = 20_000
"""Pieces of work of a campaign; to sum up more takes long beside a page."""


def kept(of: Study | Campaign, what: str, work: Callable[[Any], T], *, size: int) -> T:
    """What ``work`` finds out about a study or a campaign of so many pieces of work.

    Of one with more than :data:`MANY`, as it was at most a minute ago.
    """
    if size <= MANY:
        return work(of)
    return kept_a_minute(of, f"recruiting:{what}", lambda: work(of), is_large=lambda _found: True)


def campaigns_of(study: Study, *, now: datetime) -> list[Campaign]:
    """The study's campaigns with what came of them, the newest first."""
    differences = Difference.objects.filter(campaign=OuterRef("pk"), settled_at=None).order_by()
    number = differences.values("campaign").annotate(number=Count("pk")).values("number")
    campaigns: list[Campaign] = list(
        Campaign.objects.filter(study=study)
        .annotate(
            open_differences=Coalesce(Subquery(number, output_field=IntegerField()), Value(0)),
            offer_is_over=Q(state=Campaign.State.LIVE, offered_until__lte=now),
        )
        .order_by("-number")
    )
    visits = kept(study, "visits", _visits_of, size=size_of(study))
    for campaign in campaigns:
        states = visits.get(campaign.pk, Counter())
        campaign.arrived, campaign.confirmed = sum(states.values()), states["confirmed"]  # type: ignore[attr-defined]
    return campaigns


def size_of(study: Study) -> int:
    """How many pieces of work its campaigns have on their platforms."""
    return Submission.objects.filter(campaign__study=study).count()


def _visits_of(study: Study) -> dict[int, Counter[str]]:
    """How many visits of each of its campaigns are open, confirmed and doubted."""
    rows = Visit.objects.filter(campaign__study=study).order_by().values_list("campaign", "session__state")
    found: defaultdict[int, Counter[str]] = defaultdict(Counter)
    for campaign, state, number in rows.annotate(number=Count("pk")):
        found[campaign][state] = number
    return dict(found)


def visits_by_state(campaign: Campaign) -> dict[str, int]:
    """How many of its visits are open, confirmed and doubted."""
    rows = campaign.visits.order_by().values_list("session__state").annotate(count=Count("pk"))
    found = dict(rows)
    return {state: found.get(state, 0) for state in WorkSession.State.values}


def numbers_by_status(campaign: Campaign) -> dict[str, int]:
    """How many pieces of work the platform lists, by their status."""
    return dict(campaign.submissions.values_list("status").annotate(count=Count("pk")))


def in_words(numbers: Mapping[str, int]) -> list[tuple[str, int]]:
    """The same as (words, count), in the order of the statuses."""
    return [(str(label), numbers[value]) for value, label in Submission.Status.choices if value in numbers]


def votes_waiting(study: Study) -> int:
    """Answers that hold a slot and will count once a platform has confirmed their visit."""
    return Assignment.objects.filter(
        enrollment__study=study, session__isnull=False, state=Assignment.State.PENDING
    ).count()


def money_of(campaign: Campaign) -> Money:
    """What was paid in a campaign and what is on its way."""
    return _sums(Payment.objects.filter(submission__campaign=campaign)).get(campaign.pk, NO_MONEY)


def money_by_campaign(study: Study) -> dict[int, Money]:
    """The same of each campaign of a study in which anything was paid or asked for, by their ids."""
    return _sums(Payment.objects.filter(submission__campaign__study=study))


def _sums(payments: QuerySet[Payment]) -> dict[int, Money]:
    State = Payment.State
    sums = (
        payments.order_by()
        .values_list("submission__campaign")
        .annotate(
            paid=Sum("amount", filter=Q(state=State.DONE), default=NOTHING),
            outside=Sum("amount", filter=Q(kind=Payment.Kind.OUTSIDE), default=NOTHING),
            there=Sum("amount", filter=Q(decided_there=True), default=NOTHING),
            underway=Sum("amount", filter=Q(state__in=[State.REQUESTED, State.SENDING]), default=NOTHING),
            refused=Count("pk", filter=Q(state=State.FAILED)),
        )
    )
    return {campaign: Money(*found) for campaign, *found in sums}


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
    open_ones = list(theirs.exclude(state=Payment.State.DONE))
    due = [payment for payment in open_ones if payment.state != Payment.State.FAILED]
    return len(due) + len(can_be_asked_again(open_ones))


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


def to_send_again(study: Study) -> Counter[int]:
    """By campaign: what waits for credentials or money, and refused approvals and qualifications.

    Without approvals for who has been forgotten, since nobody can tell the platform about them.
    """
    payments = Payment.objects.filter(submission__campaign__study=study)
    newer = Payment.objects.filter(
        submission=OuterRef("submission"),
        kind__in=["approval", "rejection", "outside"],
        pk__gt=OuterRef("pk"),
    )
    known = payments.filter(submission__annotator__erased_at=None)
    refused = known.filter(~Exists(newer), kind="approval", state="failed")
    waiting = payments.filter(state__in=["requested", "sending"], waits_since__isnull=False)
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


@dataclass(frozen=True, slots=True)
class WorkPage:
    """A page of the work of a campaign; ``next`` is the place after which the next one begins, if any."""

    rows: list[Submission]
    next: str


def work_page(campaign: Campaign, *, after: str = "", only: int | None = None, size: int) -> WorkPage:
    """What was handed in on the platform, or answered here and then returned there or left to run out.

    What waits for a decision comes first (``waits``), then the rest, each the newest first; with visits and
    payments. ``after`` is a place as the page before gave it; what is none is the beginning. ``only``: one
    piece of work, by its id.
    """
    waits, last = _place(after)
    rows = _beyond(_waiting(campaign), last if waits else None, size) if waits else []
    if only:
        rows = [found for rows in (_waiting(campaign), _others(campaign)) for found in rows.filter(pk=only)]
    elif len(rows) <= size:
        rows += _beyond(_others(campaign), None if waits else last, size - len(rows))
    for row in rows:
        row.campaign = campaign
    prefetch_related_objects(rows, "payments")
    shown = rows[:size]
    return WorkPage(shown, _place_of(shown[-1]) if len(rows) > size else "")


def _waiting(campaign: Campaign) -> QuerySet[Submission]:
    submitted = Submission.objects.filter(campaign=campaign, status=Submission.Status.SUBMITTED)
    return submitted.filter(~Exists(_decided())).annotate(waits=Value(True))


def _others(campaign: Campaign) -> QuerySet[Submission]:
    decided = Q(status=Submission.Status.SUBMITTED) & Exists(_decided())
    over = Q(status__in=[Submission.Status.APPROVED, Submission.Status.REJECTED])
    answered = Q(status__in=NEVER_APPROVED, visit__session__stories_submitted__gt=0)
    found = Submission.objects.filter(decided | over | answered, campaign=campaign)
    return found.annotate(waits=Value(False))


def _decided() -> QuerySet[Payment]:
    decisions = Payment.objects.filter(submission=OuterRef("pk"), kind__in=["approval", "rejection"])
    # Taken back, or refused: it waits again.
    return decisions.exclude(kind="rejection", state__in=["failed", "withdrawn"])


def _beyond(found: QuerySet[Submission], last: int | None, size: int) -> list[Submission]:
    """One more than so many, the newest first, from the one after ``last`` on."""
    older = found if last is None else found.filter(pk__lt=last)
    return list(older.select_related("visit__session", "annotator").order_by("-pk")[: size + 1])


def _place(after: str) -> tuple[bool, int | None]:
    """Whether it is among what waits, and after which id."""
    number = after[1:]
    if after[:1] in ("w", "o") and number.isascii() and number.isdigit() and len(number) < 18:
        return after[0] == "w", int(number)
    return True, None


def _place_of(row: Submission) -> str:
    return f"{'w' if row.waits else 'o'}{row.pk}"  # type: ignore[attr-defined]  # annotated above


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
    "decided_there",
    "requested_at",
    "settled_at",
    "problem",
)


def payment_rows(study: Study, only: Q | None = None) -> Iterator[dict[str, Any]]:
    """Every payment of the study, or ``only`` some, under pseudonyms, the oldest first, for a table."""
    payments = (
        Payment.objects.filter(only or Q(), submission__campaign__study=study)
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
            "decided_there": payment.decided_there,
            "requested_at": payment.requested_at.isoformat(),
            "settled_at": payment.settled_at.isoformat() if payment.settled_at else "",
            "problem": payment.problem,
        }
