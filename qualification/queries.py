"""What researchers ask about a round: how far people come, and which question stops them."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Count, Q, QuerySet

from annotation.models import Study
from qualification.models import Attempt, AttemptAnswer


@dataclass(frozen=True, slots=True)
class QuestionFailures:
    """Of the attempts handed in, how many answered this question about this story unacceptably."""

    story_id: str
    question: str
    row: str
    not_accepted: int
    submitted: int

    @property
    def share(self) -> float:
        """In 0..1."""
        return self.not_accepted / self.submitted if self.submitted else 0.0


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


@dataclass(frozen=True, slots=True)
class Funnel(Tested):
    """The same, with the questions that stopped people."""

    failures: list[QuestionFailures]


def tested(study: Study) -> Tested:
    """How many people began a round of the study, handed one in, and passed. One query."""
    submitted = Q(state=Attempt.State.SUBMITTED)
    counts = _attempts(study).aggregate(
        started=Count("enrollment", distinct=True),
        submitted=Count("enrollment", distinct=True, filter=submitted),
        passed=Count("enrollment", distinct=True, filter=submitted & Q(passed=True)),
    )
    return Tested(**counts)


def funnel(study: Study) -> Funnel:
    """How many people began a round, handed one in and passed, and the questions that stopped people."""
    submitted = _attempts(study).filter(state=Attempt.State.SUBMITTED)
    handed_in = Count("attempt", distinct=True)
    rows = (
        AttemptAnswer.objects.filter(attempt__in=submitted)
        .values("round_story__story__story_id", "round_story__position", "question", "row")
        .annotate(submitted=handed_in, not_accepted=Count("pk", filter=Q(accepted=False)))
        .filter(not_accepted__gt=0)
        .order_by("-not_accepted", "round_story__position", "question", "row")
    )
    people = tested(study)
    return Funnel(
        started=people.started,
        submitted=people.submitted,
        passed=people.passed,
        failures=[
            QuestionFailures(
                row["round_story__story__story_id"],
                row["question"],
                row["row"],
                row["not_accepted"],
                row["submitted"],
            )
            for row in rows
        ],
    )


def _attempts(study: Study) -> QuerySet[Attempt]:
    return Attempt.objects.filter(round__study=study, enrollment__environment=study.environment)
