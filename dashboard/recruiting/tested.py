"""How people did in the qualification test for which work on a platform was handed in. Reads only."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from django.db.models import Count, Q

from annotation.models import Study
from qualification.models import Attempt


@dataclass(frozen=True, slots=True)
class TestResult:
    """Somebody's newest attempt. ``passed`` is None until it is handed in.

    ``right``: stories without a mistake.
    """

    passed: bool | None
    right: int
    stories: int


def results_of(study: Study, annotators: Collection[int]) -> dict[int, TestResult]:
    """Of those of the people who began the test, by the ids of the annotators. One query."""
    story, mistaken = "answers__round_story", Q(answers__accepted=False)
    attempts = (
        Attempt.objects.filter(enrollment__study=study, enrollment__annotator__in=annotators)
        .exclude(state="void")
        .annotate(looked_at=Count(story, distinct=True), wrong=Count(story, filter=mistaken, distinct=True))
        .order_by("pk")
        .values_list("enrollment__annotator", "passed", "looked_at", "wrong")
    )
    return {
        annotator: TestResult(passed, looked_at - wrong, looked_at)
        for annotator, passed, looked_at, wrong in attempts
    }
