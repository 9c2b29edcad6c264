"""Ask for a story, and send an answer, at a known time."""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone

from annotation import actions
from annotation.models import Assignment, Enrollment
from annotation.rules import Reason, Refusal
from tests import builders

NOW = timezone.now()
LATER = NOW + timedelta(minutes=31)
"""When a lease given out at NOW has run out."""


def ask(enrollment: Enrollment, *, now: object = NOW) -> Assignment | Refusal:
    return actions.assign_next_story(enrollment=enrollment, now=now)  # type: ignore[arg-type]


def send(assignment: Assignment, *, now: object = NOW, **changes: str) -> actions.Receipt:
    return actions.record_vote(
        assignment_id=assignment.pk,
        enrollment=assignment.enrollment,
        submitted=builders.answers(**changes),
        now=now,  # type: ignore[arg-type]
    )


def send_and_ask(
    assignment: Assignment, *, now: object = NOW
) -> tuple[actions.Receipt, Assignment | Refusal]:
    return actions.record_vote_and_assign_next(
        assignment_id=assignment.pk,
        enrollment=assignment.enrollment,
        submitted=builders.ALL_YES,
        now=now,  # type: ignore[arg-type]
    )


def refused(outcome: Assignment | Refusal) -> Reason:
    assert isinstance(outcome, Refusal)
    return outcome.reason
