"""Letting somebody take the test again, which three rooms have a part in; all of it or nothing."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from accounts.models import User
from annotation import actions as annotation_actions
from annotation import rules
from annotation.errors import WrongState
from annotation.models import Enrollment, Event, Study
from annotation.sql import lock_person
from qualification import actions as qualification_actions
from qualification.models import Attempt
from recruitment import actions as recruitment_actions
from recruitment.actions.claims import KIND, unproven_visits
from recruitment.models import Difference, Visit

_OWN_STEPS = (
    Event.Type.CONSENT_GIVEN,
    Event.Type.CONSENT_DECLINED,
    Event.Type.CONSENT_ASKED,
    Event.Type.ATTEMPT_STARTED,
    Event.Type.ATTEMPT_SUBMITTED,
    Event.Type.TEST_GIVEN_BACK,
)
"""What makes void what a researcher has in front of them who lets somebody take the test again."""


@transaction.atomic
def let_take_test_again(
    *,
    enrollment: Enrollment,
    was_somebody_else: bool,
    reason: str,
    by: User | None,
    now: datetime,
    seen: int | None = None,
) -> Enrollment:
    """Set a person back to before the test: their attempts are void, and nothing of them is deleted.

    ``was_somebody_else``: who took the test, or declined, only typed their id. Then the visits that nobody
    has proven are worth nothing, the attempts are not paid, and the person is asked for their consent.
    ``seen``: :attr:`Retaking.seen` of what the researcher has in front of them; without it no matter.

    Raises ``annotation.errors.ReasonMissing``, and ``WrongState`` for somebody who is suspended or has left,
    or who has consented, taken a test or been set back since it was seen.
    """
    lock_person(enrollment.pk)
    if seen is not None and seen != _newest_step(enrollment):
        raise WrongState(
            _("This person’s test or consent has changed meanwhile. Nothing was done: look at it again.")
        )
    person = annotation_actions.set_back(
        enrollment=enrollment, asks_consent=was_somebody_else, by=by, now=now, reason=reason
    )
    qualification_actions.void_attempts(enrollment=person, were_theirs=not was_somebody_else, now=now)
    recruitment_actions.set_back(
        enrollment=person, gives_up_unproven=was_somebody_else, reason=reason.strip(), by=by, now=now
    )
    return person


@dataclass(frozen=True, slots=True)
class Retaking:
    """What a person has taken and how they came, and whether they can be let take the test again.

    ``two_visits``: somebody came once more in the name of a person whose test was taken in an unproven visit.
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
    """A person's tests and visits from platforms, as far as they are here."""
    seen = _newest_step(person)  # first: what comes after it has not been seen
    attempts = list(Attempt.objects.filter(enrollment=person).select_related("round"))
    has_test = person.study.gate != Study.Gate.NOT_REQUIRED
    began: dict[str, Any] = {Enrollment.State.CONSENTED: bool(attempts), Enrollment.State.INVITED: False}
    has_something = began.get(person.state, has_test or person.state == Enrollment.State.DECLINED)
    visits = Visit.objects.filter(enrollment=person, campaign__isnull=False)
    return Retaking(
        attempts=attempts,
        visits=list(visits.select_related("campaign", "session", "submission").order_by("pk")),
        unproven=unproven_visits(person).count(),
        two_visits=Difference.objects.filter(kind=KIND, visit__enrollment=person, settled_at=None).exists(),
        is_possible=person.state in rules.BEFORE_OR_AFTER_TEST and bool(has_something),
        is_consent=not has_test,
        seen=seen,
    )


def _newest_step(person: Enrollment) -> int:
    steps = Event.objects.filter(enrollment=person, type__in=_OWN_STEPS)
    return steps.order_by("-pk").values_list("pk", flat=True).first() or 0
