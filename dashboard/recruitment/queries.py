"""Queries about campaigns, payments, earnings and submissions."""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, TypeVar

from django.db.models import (
    Count,
    Exists,
    F,
    IntegerField,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Sum,
    TextChoices,
    Value,
    prefetch_related_objects,
)
from django.db.models.functions import Coalesce

from annotation.models import Assignment, Enrollment, Study, WorkSession
from annotation.numbers import number_in
from annotation.pay import per_hour
from annotation.rules import CENT, pseudonym
from qualification.models import Attempt
from recruitment.marketplace import NEVER_APPROVED, PAID
from recruitment.models import Campaign, Mismatch, Payment, Submission, Visit
from recruitment.places import Places, places_of
from tomannot.cache import cached_for_a_minute

T = TypeVar("T")
MANY = 20_000
"""Submissions of a campaign; summing more is too slow for a page."""


def cached(of: Study | Campaign, what: str, query: Callable[[Any], T], *, size: int) -> T:
    """Return the query's result for a study or campaign of so many submissions.

    With more than :data:`MANY`, the result may be up to a minute old.
    """
    if size <= MANY:
        return query(of)
    return cached_for_a_minute(of, f"recruiting:{what}", lambda: query(of), is_large=lambda _found: True)


def campaigns_of(study: Study, *, now: datetime) -> list[Campaign]:
    """Return the study's campaigns with their counts, the newest first."""
    mismatches = Mismatch.objects.filter(campaign=OuterRef("pk"), settled_at=None).order_by()
    number = mismatches.values("campaign").annotate(number=Count("pk")).values("number")
    campaigns: list[Campaign] = list(
        Campaign.objects.filter(study=study)
        .annotate(
            open_mismatches=Coalesce(Subquery(number, output_field=IntegerField()), Value(0)),
            offer_is_over=Q(state=Campaign.State.LIVE, offered_until__lte=now),
        )
        .order_by("-number")
    )
    visits = cached(study, "visits", _visits_of, size=size_of(study))
    for campaign in campaigns:
        states = visits.get(campaign.pk, Counter())
        campaign.arrived, campaign.confirmed = sum(states.values()), states["confirmed"]  # type: ignore[attr-defined]
    return campaigns


def places(study: Study) -> Places:
    """Return the votes that the study needs and what its campaigns can bring; cached in large studies."""
    votes = Assignment.objects.filter(story__study=study)[: MANY + 1].count()
    return cached(study, "places", places_of, size=votes)


def size_of(study: Study) -> int:
    """Return how many submissions the study's campaigns have."""
    return Submission.objects.filter(campaign__study=study).count()


def _visits_of(study: Study) -> dict[int, Counter[str]]:
    rows = Visit.objects.filter(campaign__study=study).order_by().values_list("campaign", "session__state")
    found: defaultdict[int, Counter[str]] = defaultdict(Counter)
    for campaign, state, number in rows.annotate(number=Count("pk")):
        found[campaign][state] = number
    return dict(found)


def visits_by_state(campaign: Campaign) -> dict[str, int]:
    return dict.fromkeys(WorkSession.State.values, 0) | counted(campaign.visits.all(), "session__state")


def ends_of(campaign: Campaign) -> list[tuple[str, int]]:
    """Return (reason, count) pairs: why visits ended with less work than asked for."""
    return labelled(counted(campaign.visits.exclude(ended_by=""), "ended_by"), Visit.End)


def counted(rows: QuerySet[Any], field: str) -> dict[str, int]:
    return dict(rows.order_by().values_list(field).annotate(count=Count("pk")))


def labelled(numbers: Mapping[str, int], choices: type[TextChoices]) -> list[tuple[str, int]]:
    """Return (label, count) pairs in the order of the choices."""
    return [(str(label), numbers[value]) for value, label in choices.choices if value in numbers]


def votes_waiting(study: Study) -> int:
    """Count the answers that hold a slot until a platform confirms their visit."""
    return Assignment.objects.filter(
        enrollment__study=study, session__isnull=False, state=Assignment.State.PENDING
    ).count()


def open_mismatches(study: Study) -> QuerySet[Mismatch]:
    """Return the open mismatches of all campaigns, the oldest first."""
    return (
        Mismatch.objects.filter(campaign__study=study, settled_at=None)
        .select_related(
            "campaign",
            "visit__session",
            "visit__enrollment__annotator",
            "submission__visit__session",
            "submission__annotator",
        )
        .order_by("pk")
    )


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
    return theirs.unsettled().count() + theirs.retryable().count()


def retryable_by_campaign(study: Study) -> Counter[int]:
    """Count, by campaign, what waits for credentials or money, and refused approvals and memberships."""
    payments = Payment.objects.filter(submission__campaign__study=study)
    found: Counter[int] = Counter()
    for rows in (
        payments.refused_approvals().values_list("submission__campaign"),
        payments.waiting_for_account().values_list("submission__campaign"),
        study.grants.waiting_for_account().values_list("campaign"),
        study.grants.refused().values_list("campaign"),
    ):
        found.update(dict(rows.order_by().annotate(number=Count("pk"))))
    return found


_FIELDS = (
    "kind", "amount", "currency", "state", "decided_by_platform", "requested_at", "settled_at", "problem",
)  # fmt: skip
PAYMENT_COLUMNS = {
    "annotator": "submission__annotator",
    "campaign": "submission__campaign__number",
    "platform": "submission__platform",
    "work": "submission",
} | {name: name for name in _FIELDS}
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
        return per_hour(self.amount, self.took.total_seconds()).quantize(CENT) if self.took else None


def earned_by(person: Enrollment) -> list[Earned]:
    """Return what the person was paid for stories, by currency, including payments outside the platform.

    Only handed-in visits count, since the others have no time, and only those with a settled payment.
    """
    return [earned for _name, earned in _earned(_settled().filter(enrollment=person))]


def earned_by_everybody(study: Study) -> dict[str, Earned]:
    """Return everybody's pay in the study's currency for stories, by pseudonym. Two queries."""
    return dict(_earned(_settled().filter(enrollment__study=study, campaign__currency=study.currency)))


def _earned(visits: QuerySet[Visit]) -> Iterator[tuple[str, Earned]]:
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


def submissions_page(
    campaign: Campaign, *, after: str = "", only: int = 0, size: int
) -> tuple[list[Submission], str]:
    """Return a page of the submissions that were handed in, or answered here and then returned or timed out.

    With it comes the cursor of the following page, empty if there is none.

    Those that wait for a decision (``waits``) come first, then the rest, each the newest first; with visits
    and payments. ``after`` is the cursor of the page before; anything else starts at the beginning.
    ``only`` selects one submission by its id.
    """
    waits, last = _parsed(after)
    rows = _newest_below(_waiting(campaign), last if waits else None, size) if waits else []
    if only:
        rows = [found for rows in (_waiting(campaign), _others(campaign)) for found in rows.filter(pk=only)]
    elif len(rows) <= size:
        rows += _newest_below(_others(campaign), None if waits else last, size - len(rows))
    for row in rows:
        row.campaign = campaign
    prefetch_related_objects(rows, "payments")
    shown = rows[:size]
    following = f"{'w' if shown[-1].waits else 'o'}{shown[-1].pk}" if len(rows) > size else ""  # type: ignore[attr-defined]
    return shown, following


def _waiting(campaign: Campaign) -> QuerySet[Submission]:
    submitted = Submission.objects.filter(campaign=campaign, status=Submission.Status.SUBMITTED)
    return submitted.filter(~Exists(_answers())).annotate(waits=Value(True))


def _others(campaign: Campaign) -> QuerySet[Submission]:
    decided = Q(status=Submission.Status.SUBMITTED) & Exists(_answers())
    over = Q(status__in=[*PAID, Submission.Status.REJECTED])
    answered = Q(status__in=NEVER_APPROVED, visit__session__stories_submitted__gt=0)
    found = Submission.objects.filter(decided | over | answered, campaign=campaign)
    return found.annotate(waits=Value(False))


def _answers() -> QuerySet[Payment]:
    return Payment.objects.answering().filter(submission=OuterRef("pk"))


def _newest_below(found: QuerySet[Submission], last: int | None, size: int) -> list[Submission]:
    older = found if last is None else found.filter(pk__lt=last)
    return list(older.select_related("visit__session", "annotator").order_by("-pk")[: size + 1])


def _parsed(after: str) -> tuple[bool, int | None]:
    """Return the parts of a cursor: True if it points into waiting submissions, and the last id shown."""
    number = number_in(after[1:])
    return (after[0] == "w", number) if number and after[0] in "wo" else (True, None)


def newest_attempts(study: Study, annotators: Collection[int]) -> dict[int, Attempt]:
    """Return the newest attempt of those annotators who began the test, by annotator. One query.

    Each has the number of ``stories`` answered, and of those ``right``, without a mistake.
    """
    stories = Count("answers__round_story", distinct=True)
    wrong = Count("answers__round_story", filter=Q(answers__accepted=False), distinct=True)
    theirs = Attempt.objects.standing().filter(enrollment__study=study, enrollment__annotator__in=annotators)
    attempts = theirs.annotate(stories=stories, right=stories - wrong).select_related("enrollment")
    return {attempt.enrollment.annotator_id: attempt for attempt in attempts.order_by("pk")}
