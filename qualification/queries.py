"""What researchers ask about a study's test: whether it can have one, and how far people come in it."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Count, Q, QuerySet
from django.utils.translation import gettext as _

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


def why_no_test(study: Study) -> str:
    """Why the study can have no test of its own; empty where it can."""
    if study.qualified_through is None:
        return ""
    return _(
        "This study takes people who are qualified in “%(source)s”, so it has no test of its own. Work on "
        "the test there."
    ) % {"source": study.qualified_through.slug}


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
    return Attempt.objects.standing().filter(round__study=study, enrollment__environment=study.environment)
