"""What races of people who are served stories do: claim, submit, both at once."""

from __future__ import annotations

from collections.abc import Callable

from django.utils import timezone

from annotation import actions
from annotation.models import Assignment, Enrollment
from annotation.rules import Refusal
from tests import builders


def claiming(enrollment: Enrollment) -> Callable[[], Assignment | Refusal]:
    return lambda: actions.assign_next_story(enrollment=enrollment, now=timezone.now())


def submitting(
    assignment: Assignment, enrollment: Enrollment, answers: dict[str, str] | None = None
) -> Callable[[], actions.Receipt]:
    return lambda: actions.record_vote(
        assignment_id=assignment.pk,
        enrollment=enrollment,
        submitted=answers or builders.ALL_YES,
        now=timezone.now(),
    )


def submitting_and_claiming(assignment: Assignment) -> Callable[[], object]:
    return lambda: actions.record_vote_and_assign_next(
        assignment_id=assignment.pk,
        enrollment=assignment.enrollment,
        submitted=builders.ALL_YES,
        now=timezone.now(),
    )
