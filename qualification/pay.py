"""What the time of somebody's test comes to: paid by the hour, as the stories are."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal

from django.db.models import Count, QuerySet

from annotation.models import Enrollment, Study
from annotation.rules import estimated_pay
from qualification.models import Attempt
from qualification.rules import paid_time


@dataclass(frozen=True, slots=True)
class TimeAtTest:
    """Somebody's attempts that they handed in, void or not.

    Whether one passed, their paid seconds, and what that comes to.
    """

    passed: bool
    seconds: float
    pay: Decimal | None


@dataclass(frozen=True, slots=True)
class Earnings:
    """What somebody's stories and their test come to; None is what is not paid."""

    stories: Decimal | None
    test: Decimal | None

    @property
    def total(self) -> Decimal | None:
        """Both together; None when nothing is paid."""
        parts = [part for part in (self.stories, self.test) if part is not None]
        return sum(parts, Decimal("0.00")) if parts else None


def time_at_test(enrollment: Enrollment) -> TimeAtTest | None:
    """The person's test; None before they have handed it in."""
    study = enrollment.study
    return _summed(_handed_in(study).filter(enrollment=enrollment), study).get(enrollment.pk)


def times_at_tests(study: Study) -> dict[int, TimeAtTest]:
    """The test of everybody in the study who handed it in, by their enrollment. One query."""
    return _summed(_handed_in(study), study)


def _handed_in(study: Study) -> QuerySet[Attempt]:
    return Attempt.objects.to_be_paid().filter(enrollment__study=study)


def _summed(attempts: QuerySet[Attempt], study: Study) -> dict[int, TimeAtTest]:
    passed: dict[int, bool] = {}
    paid: dict[int, timedelta] = {}
    rows = attempts.annotate(stories=Count("round__round_stories")).select_related("round")
    for attempt in rows:
        person, success = attempt.enrollment_id, bool(attempt.passed)
        assert attempt.submitted_at is not None  # a constraint of those handed in
        took = paid_time(
            attempt.submitted_at - attempt.started_at,
            stories=attempt.stories,
            passed=success,
            pays_on_fail=attempt.round.pays_on_fail,
        )
        passed[person] = passed.get(person, False) or success
        paid[person] = paid.get(person, timedelta(0)) + took
    return {
        person: TimeAtTest(passed[person], seconds, estimated_pay(1, seconds, study.pay_rate))
        for person, seconds in ((person, time.total_seconds()) for person, time in paid.items())
    }
