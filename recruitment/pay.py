"""Pay: what a reward is per hour, what is missing to the study's rate, and which reward is fair."""

from dataclasses import dataclass
from decimal import ROUND_HALF_UP, ROUND_UP, Decimal

from django.db.models import Aggregate, Count, DurationField, F

from annotation.models import Study, WorkSession
from annotation.pay import pay_for, per_hour
from annotation.rules import CENT
from recruitment.models import Campaign
from recruitment.reconciliation.queries import whole

FEWEST = 5
"""Fewest submissions whose median time is meaningful."""
SHORTEST = 5.0
"""Seconds: nobody reads two sentences and answers in less, so a shorter median is of machines or mistakes."""


@dataclass(frozen=True, slots=True)
class HourlyPay:
    """A campaign's pay per hour, by the median time of its submissions."""

    median_seconds: float
    per_hour: Decimal
    target: Decimal | None
    top_up: Decimal
    """Missing pay per submission, in whole cents; 0 when nothing is missing."""

    @property
    def median_minutes(self) -> float:
        return self.median_seconds / 60


def advertised_pay(reward: Decimal, minutes: int) -> Decimal:
    """Return the hourly pay of a reward for this many minutes, in whole cents."""
    return per_hour(reward, minutes * 60).quantize(CENT, ROUND_HALF_UP)


def hourly_pay(reward: Decimal, median: float, target: Decimal | None, *, pieces: int) -> HourlyPay | None:
    """Return the hourly pay of submissions with this ``median`` in seconds; None if too few or too short.

    The median is what platforms judge by as well (Prolific: by the median of the real times). What is
    missing is rounded up to the next cent, so that nobody is left below the target.
    """
    if pieces < FEWEST or median < SHORTEST:
        return None
    owed = reward if target is None else pay_for(median, target)
    top_up = max((owed - reward).quantize(CENT, ROUND_UP), Decimal(0))
    return HourlyPay(median, per_hour(reward, median).quantize(CENT), target, top_up)


class Median(Aggregate):
    """The middle of some values, halfway between the two where their number is even."""

    function = "PERCENTILE_CONT"
    template = "%(function)s(0.5) WITHIN GROUP (ORDER BY %(expressions)s)"


def hourly_pay_of(campaign: Campaign) -> HourlyPay | None:
    """Return the campaign's pay per hour, from arrival to hand-in, of confirmed whole submissions."""
    confirmed = campaign.visits.filter(whole("session"), session__state=WorkSession.State.CONFIRMED)
    times = confirmed.filter(handed_in_at__isnull=False)
    took = times.annotate(took=F("handed_in_at") - F("arrived_at"))
    row = took.aggregate(number=Count("pk"), median=Median("took", output_field=DurationField()))
    median = row["median"].total_seconds() if row["median"] else 0.0
    return hourly_pay(campaign.reward, median, campaign.study.pay_rate, pieces=row["number"])


def fair_reward(study: Study, *, minutes: Decimal) -> Decimal | None:
    """Return the study's hourly rate for so many minutes, in whole cents; None if nobody is paid."""
    return None if study.pay_rate is None else pay_for(minutes * 60, study.pay_rate).quantize(CENT)
