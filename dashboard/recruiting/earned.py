"""What platforms have paid a person for stories, and what that is by the hour. Reads only."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal

from django.db.models import Exists, F, OuterRef, QuerySet, Sum

from annotation import rules
from annotation.models import Enrollment, Study
from recruitment.models import Campaign, Payment, Visit
from recruitment.pay import CENT


@dataclass(frozen=True, slots=True)
class Earned:
    """Money of one currency for work that took ``took`` in all, from coming to handing in."""

    amount: Decimal
    currency: str
    took: timedelta

    @property
    def per_hour(self) -> Decimal | None:
        """None where no time was measured."""
        hours = Decimal(str(self.took.total_seconds())) / 3600
        return (self.amount / hours).quantize(CENT) if hours else None


def earned_by(person: Enrollment) -> list[Earned]:
    """What was paid to the person for stories, per currency: rewards, bonuses and top-ups that arrived, and
    what was paid in another way. Only of visits that were handed in, since others have no time; and the time
    of a visit counts from when something about its pay is done, not while all of it waits.
    """
    visits = _settled().filter(enrollment=person)
    times = visits.order_by().values_list("campaign__currency")
    took = dict(times.annotate(took=Sum(F("handed_in_at") - F("arrived_at"))))
    done = Payment.objects.filter(submission__visit__in=visits, state=Payment.State.DONE)
    sums = done.order_by().values_list("currency").annotate(paid=Sum("amount"))
    return [Earned(paid, currency, took.get(currency, timedelta())) for currency, paid in sums if paid]


def earned_by_everybody(study: Study) -> dict[str, Earned]:
    """The same of everybody who was paid in the study's currency, by pseudonym. Two queries."""
    visits = _settled().filter(enrollment__study=study, campaign__currency=study.currency).order_by()
    times = visits.values_list("enrollment").annotate(took=Sum(F("handed_in_at") - F("arrived_at")))
    took = dict(times)
    done = Payment.objects.filter(
        submission__visit__in=visits, state=Payment.State.DONE, currency=study.currency
    )
    whose = "submission__visit__enrollment"
    sums = done.order_by().values_list(whose, f"{whose}__annotator").annotate(paid=Sum("amount"))
    return {
        rules.pseudonym(study.pseudonym_key, annotator): Earned(paid, study.currency, took[enrollment])
        for enrollment, annotator, paid in sums
        if paid
    }


def _settled() -> QuerySet[Visit]:
    """Visits for stories that have a time and a payment, or a rejection, that is done."""
    done = Payment.objects.filter(submission__visit=OuterRef("pk"), state=Payment.State.DONE)
    visits = Visit.objects.filter(campaign__purpose=Campaign.Purpose.STORIES, handed_in_at__isnull=False)
    return visits.filter(Exists(done))
