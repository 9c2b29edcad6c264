"""Visits that only say whose they are: anybody who knows a worker's id can come in their name.

Nobody is shut out by such a visit for good. Researchers are shown that there are two, and can set the person
back to before the test, after which the visits that were not proven are worth nothing.
"""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.db.models import Q, QuerySet

from accounts.models import User
from annotation import actions as annotation_actions
from annotation.models import Enrollment, Event, WorkSession
from recruitment.actions.differences import close_difference
from recruitment.actions.grants import take_back
from recruitment.models import Campaign, Difference, Grant, Submission, Visit

KIND = Difference.Kind.TWO_VISITS
PROVEN = Q(session__state=WorkSession.State.CONFIRMED) | Q(session__identity_claimed=False)
"""Of visits: the platform has said that it is this person, or has confirmed the work."""


def unproven_test(enrollment: Enrollment) -> Visit | None:
    """The newest visit in which the person's test may have been taken by another; None once one is proven."""
    tests = Visit.objects.filter(enrollment=enrollment, campaign__purpose=Campaign.Purpose.TEST)
    return None if tests.filter(PROVEN).exists() else tests.order_by("-pk").first()


def unproven_visits(enrollment: Enrollment) -> QuerySet[Visit]:
    """The person's visits that are worth nothing if somebody else came in their name.

    Not those that the platform lists as handed in: these are its word. Nor those of whoever came after the
    test had been taken, and found it taken.
    """
    open_ones = Visit.objects.filter(enrollment=enrollment, session__state=WorkSession.State.OPEN)
    listed = [Submission.Status.SUBMITTED, Submission.Status.APPROVED, Submission.Status.REJECTED]
    found = open_ones.exclude(PROVEN).exclude(submission__status__in=listed).order_by("pk")
    taken = enrollment.events.filter(type=Event.Type.ATTEMPT_SUBMITTED).order_by("-pk").first()
    return found.filter(arrived_at__lte=taken.at) if taken else found


@transaction.atomic
def note_two_visits(*, visit_id: int, now: datetime) -> None:
    """Show researchers that somebody came once more whose test this unproven visit has used up."""
    visit = Visit.objects.select_related("campaign").get(pk=visit_id)
    assert visit.campaign is not None  # a test is taken in a visit for a campaign
    Difference.objects.get_or_create(
        visit=visit, kind=KIND, defaults={"campaign": visit.campaign, "noticed_at": now}
    )


@transaction.atomic
def set_back(
    *, enrollment: Enrollment, gives_up_unproven: bool, reason: str, by: User | None, now: datetime
) -> None:
    """What follows here for somebody who takes the test again: out of the group, and no open question.

    ``gives_up_unproven``: what was done in visits that nobody has proven was not theirs, and does not count;
    no comparison says otherwise. Called with the person's row locked.
    """
    for visit in unproven_visits(enrollment).select_related("session") if gives_up_unproven else ():
        assert visit.session is not None  # a visit without one has nothing to prove
        annotation_actions.doubt_session(session=visit.session, reason=reason, by=by, now=now)
        Visit.objects.filter(pk=visit.pk).update(decided_by_hand=True)
    grants = Grant.objects.filter(
        study=enrollment.study_id, annotator=enrollment.annotator_id, kind=Grant.Kind.QUALIFIED
    )
    grants.update(by_hand=False)  # who passes again belongs to it again, whatever was decided before
    for wanted in grants:
        take_back(wanted=wanted, now=now)
    questions = Difference.objects.filter(kind=KIND, visit__enrollment=enrollment, settled_at=None)
    for difference in questions.select_related("campaign__study"):
        close_difference(difference=difference, how=reason, by=by, now=now)
