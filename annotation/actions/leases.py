"""Renew leases while their holders are there; end them when they expire or somebody asks."""

from datetime import datetime

from django.db import transaction
from django.db.models import Exists, F
from django.db.models.functions import Greatest, Least
from django.utils.translation import gettext as _

from accounts.models import User
from annotation.actions.events import record_about
from annotation.actions.slots import free_slots, release_assignments, settle_slots
from annotation.errors import WrongState
from annotation.models import Assignment, Enrollment, Event, Study
from annotation.rules import longest_hold
from annotation.sql import lock_held, lock_person

RECLAIM_AT_ONCE = 20
"""Expired leases freed at a time: few rows are locked, for a short time."""


def renew_lease(*, enrollment: Enrollment, assignment_id: int, now: datetime) -> bool:
    """Renew the annotator's lease on a story. Return False if it is over, or was held for long enough.

    One statement, so that a lease which is freed at the same moment is either renewed or gone: whichever
    comes second finds the row as the first left it.
    """
    lease = enrollment.study.lease
    longest = longest_hold(lease)
    theirs = Assignment.objects.filter(
        Exists(Enrollment.objects.filter(pk=enrollment.pk, state=Enrollment.State.QUALIFIED)),
        pk=assignment_id,
        enrollment=enrollment,
        state=Assignment.State.LEASED,
        served_at__gt=now - longest,
    )
    until = Least(F("served_at") + longest, now + lease)
    return theirs.update(lease_expires_at=Greatest(F("lease_expires_at"), until)) == 1


@transaction.atomic
def give_back_story(*, enrollment: Enrollment, assignment_id: int) -> None:
    """Release the annotator’s story at once because they stop. Another story that they hold stays theirs."""
    person = lock_person(enrollment.pk)
    held = Assignment.objects.filter(pk=assignment_id, enrollment=person, state=Assignment.State.LEASED)
    if held.exists():
        release_assignments(enrollment=person)


@transaction.atomic
def release_lease(*, study: Study, assignment_id: int, by: User | None, now: datetime) -> None:
    """Release the story that an annotator holds, whether or not the lease has expired.

    An answer that its holder still sends is stored, and counts if the story has a free slot. Raise
    :class:`WrongState` if nobody holds it any more, or if it belongs to another study.
    """
    theirs = Enrollment.objects.filter(study=study, assignments=assignment_id).first()
    held = lock_held(lock_person(theirs.pk)) if theirs else None
    if held is None or held.pk != assignment_id:
        raise WrongState(_("This story’s lease has already ended: it was answered or it expired."))
    release_assignments(enrollment=held.enrollment)
    subject = held.story.story_id
    record_about(person=held.enrollment, type=Event.Type.LEASE_RELEASED, by=by, now=now, subject=subject)


def release_expired_leases(*, now: datetime) -> int:
    """Free all slots with expired leases, a few at a time. Return how many."""
    freed = 0
    while batch := free_expired_leases(now=now):
        freed += batch
    return freed


@transaction.atomic
def free_expired_leases(*, now: datetime, sparing: Enrollment | None = None) -> int:
    """Free a few slots with expired leases in one transaction. Return how many.

    Skip locked rows instead of waiting. Leases of ``sparing``, who is present, are kept.
    """
    ran_out = Assignment.objects.lease_ran_out(now).exclude(enrollment=sparing)
    freed = list(
        ran_out.select_for_update(of=("self", "story"), no_key=True, skip_locked=True)
        .select_related("story__study")
        .order_by("lease_expires_at")[:RECLAIM_AT_ONCE]
    )
    free_slots(held=freed)
    for study in {one.story.study for one in freed}:
        settle_slots(study=study, stories=[one.story_id for one in freed])
    return len(freed)
