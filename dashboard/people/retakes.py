"""Tests and visits of a participant, to decide whether they may retake the test."""

from dataclasses import dataclass
from typing import Any

from annotation import rules
from annotation.models import Enrollment, Event, Study
from qualification.models import Attempt
from recruitment.models import Visit
from recruitment.visit_tests import CARRIED, unproven_visits

_OWN_STEPS = (
    Event.Type.CONSENT_GIVEN,
    Event.Type.CONSENT_DECLINED,
    Event.Type.CONSENT_ASKED,
    Event.Type.ATTEMPT_STARTED,
    Event.Type.ATTEMPT_SUBMITTED,
    Event.Type.TEST_GIVEN_BACK,
)
"""Events after which a researcher's open form is outdated."""


@dataclass(frozen=True, slots=True)
class Retaking:
    """A participant's tests and visits, and whether they may retake the test.

    ``two_visits``: an unproven visit hands in the test of an earlier one, perhaps of another person.
    """

    attempts: list[Attempt]
    visits: list[Visit]
    unproven: int
    two_visits: bool
    is_possible: bool
    is_consent: bool
    """It is about consent alone: the study has no test of its own."""
    seen: int
    """The number of the person's newest step towards the test, or of its being given back; 0: none."""


def retaking_of(person: Enrollment) -> Retaking:
    """Return the participant's tests, and visits from platforms as far as they are known here."""
    seen = newest_step(person)  # first: what comes after it has not been seen
    attempts = list(Attempt.objects.filter(enrollment=person).select_related("round"))
    has_test = person.study.gate != Study.Gate.NOT_REQUIRED
    began: dict[str, Any] = {Enrollment.State.CONSENTED: bool(attempts), Enrollment.State.INVITED: False}
    has_something = began.get(person.state, has_test or person.state == Enrollment.State.DECLINED)
    visits = Visit.objects.filter(enrollment=person, campaign__isnull=False)
    return Retaking(
        attempts=attempts,
        visits=list(visits.select_related("campaign", "session", "submission").order_by("pk")),
        unproven=unproven_visits(person).count(),
        two_visits=visits.filter(CARRIED, session__state="open", session__identity_claimed=True).exists(),
        is_possible=person.state in rules.BEFORE_OR_AFTER_TEST and bool(has_something),
        is_consent=not has_test,
        seen=seen,
    )


def newest_step(person: Enrollment) -> int:
    """Return the number of the newest event on the way to the test, or of its return; 0 without any."""
    steps = Event.objects.filter(enrollment=person, type__in=_OWN_STEPS)
    return steps.order_by("-pk").values_list("pk", flat=True).first() or 0
