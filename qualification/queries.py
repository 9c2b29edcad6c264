"""What researchers ask about a round: how far people come."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Count, Q, QuerySet

from annotation.models import Study
from qualification.models import Attempt


@dataclass(frozen=True, slots=True)
class Tested:
    """Counts of people (not attempts) in the study's own environment."""

    started: int
    submitted: int
    passed: int

    @property
    def share(self) -> float | None:
        """Of those who handed a test in, how many passed, in 0..1; None when nobody has."""
        return self.passed / self.submitted if self.submitted else None


def tested(study: Study) -> Tested:
    """How many people began a round of the study, handed one in, and passed. One query."""
    submitted = Q(state=Attempt.State.SUBMITTED)
    counts = _attempts(study).aggregate(
        started=Count("enrollment", distinct=True),
        submitted=Count("enrollment", distinct=True, filter=submitted),
        passed=Count("enrollment", distinct=True, filter=submitted & Q(passed=True)),
    )
    return Tested(**counts)


def _attempts(study: Study) -> QuerySet[Attempt]:
    return Attempt.objects.filter(round__study=study, enrollment__environment=study.environment)
