"""Ending a lease on a researcher's word."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from accounts.models import User
from annotation.actions.enrollments import give_lease_back
from annotation.actions.events import record_event
from annotation.errors import LeaseOver
from annotation.models import Assignment, Enrollment, Event, Study


@transaction.atomic
def release_lease(*, study: Study, assignment_id: int, by: User | None, now: datetime) -> None:
    """Give the story that somebody holds to others at once, whether or not its lease has run out.

    An answer that its holder sends all the same is stored, and counts if the story still has a free
    slot. Raises :class:`LeaseOver` when nobody holds it any more, or when it is not of this study.
    """
    theirs = Enrollment.objects.filter(study=study, assignments=assignment_id)
    person = theirs.select_for_update(of=("self",), no_key=True).first()
    held = (
        Assignment.objects.select_for_update(of=("self",), no_key=True)
        .filter(pk=assignment_id, enrollment=person, state=Assignment.State.LEASED)
        .select_related("story")
        .first()
    )
    if person is None or held is None:
        raise LeaseOver(_("Nobody holds this story any more: it was answered, or its lease had ended."))
    give_lease_back(enrollment=person)
    record_event(
        study=study,
        type=Event.Type.LEASE_RELEASED,
        by=by,
        enrollment=person,
        now=now,
        subject=held.story.story_id,
    )
