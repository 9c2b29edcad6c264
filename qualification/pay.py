"""Pay for the time spent on the test: by the hour, like stories."""

from collections import defaultdict
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Any

from django.db.models import Count, QuerySet

from annotation.models import Enrollment, Study
from annotation.working_time import estimated_pay
from qualification.models import Attempt
from qualification.rules import paid_time


@dataclass(frozen=True, slots=True)
class TimeAtTest:
    """An annotator's submitted attempts, void ones included: any passed, paid seconds, and pay."""

    passed: bool
    seconds: float
    pay: Decimal | None


@dataclass(frozen=True, slots=True)
class Earnings:
    """An annotator's pay for stories and test; None for an unpaid part."""

    stories: Decimal | None
    test: Decimal | None

    @property
    def total(self) -> Decimal | None:
        """The sum of both; None if neither is paid."""
        parts = [part for part in (self.stories, self.test) if part is not None]
        return sum(parts, Decimal("0.00")) if parts else None


def time_at_test(enrollment: Enrollment) -> TimeAtTest | None:
    """Return the annotator's time at the test; None before they have handed it in."""
    return times_at_tests(enrollment.study, enrollment=enrollment).get(enrollment.pk)


def times_at_tests(study: Study, **only: Any) -> dict[int, TimeAtTest]:
    """Return the time at the test of everybody (or ``only`` some) who handed it in, by enrollment."""
    attempts: QuerySet[Any] = Attempt.objects.to_be_paid().filter(enrollment__study=study, **only)
    passed: defaultdict[int, bool] = defaultdict(bool)
    paid: defaultdict[int, timedelta] = defaultdict(timedelta)
    for attempt in attempts.annotate(stories=Count("round__round_stories")).select_related("round"):
        assert attempt.submitted_at is not None  # a constraint of those handed in
        took = paid_time(
            attempt.submitted_at - attempt.started_at,
            stories=attempt.stories,
            passed=bool(attempt.passed),
            pays_on_fail=attempt.round.pays_on_fail,
        )
        passed[attempt.enrollment_id] |= bool(attempt.passed)
        paid[attempt.enrollment_id] += took
    return {
        person: TimeAtTest(passed[person], seconds, estimated_pay(1, seconds, study.pay_rate))
        for person, seconds in ((person, time.total_seconds()) for person, time in paid.items())
    }
