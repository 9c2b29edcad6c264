"""Work that a platform asks for: opened when somebody comes, settled once the platform says what is so."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from accounts.models import User
from annotation.actions import counting
from annotation.actions.enrollments import give_lease_back
from annotation.actions.events import record_event
from annotation.actions.exclusions import standing_exclusion
from annotation.models import Assignment, Enrollment, Event, VoteExclusion, WorkSession
from annotation.sql import lock_person

State = WorkSession.State


@transaction.atomic
def open_session(
    *,
    enrollment: Enrollment,
    story_limit: int,
    counts_at_once: bool,
    identity_claimed: bool,
    framed: bool,
    expires_at: datetime,
    now: datetime,
) -> WorkSession:
    """Let the person work on at most ``story_limit`` stories in one visit from a platform."""
    return WorkSession.objects.create(
        enrollment=enrollment,
        story_limit=story_limit,
        counts_at_once=counts_at_once,
        identity_claimed=identity_claimed,
        framed=framed,
        opened_at=now,
        expires_at=expires_at,
    )


@transaction.atomic
def know_person(*, session: WorkSession) -> None:
    """The platform has confirmed who it is that works in this session, though not yet the work."""
    lock_person(session.enrollment_id)  # first, as everywhere: an answer locks the person, then the session
    WorkSession.objects.filter(pk=session.pk).update(identity_claimed=False)


@transaction.atomic
def confirm_session(*, session: WorkSession, by: User | None, now: datetime) -> bool:
    """The platform confirms the visit: its votes count from now on. Whether anything changed.

    Those of a visit that had been doubted count as far as their slots are still free.
    """
    person, session = _lock(session)
    if session.state == State.CONFIRMED:
        return False
    _become(session, State.CONFIRMED, now=now)
    theirs = Assignment.objects.filter(session=session)
    theirs.filter(state=Assignment.State.PENDING).update(state=Assignment.State.SUBMITTED)
    doubted = theirs.filter(state=Assignment.State.DOUBTED)
    out = VoteExclusion.objects.standing()
    if standing_exclusion(person):
        doubted.update(state=Assignment.State.EXCLUDED)
    else:
        alone = out.exclude(assignment=None).values("assignment")
        doubted.filter(pk__in=alone).update(state=Assignment.State.EXCLUDED)
        counting.again(assignments=doubted.exclude(pk__in=alone))
    _record(session, Event.Type.WORK_CONFIRMED, by=by, now=now)
    return True


@transaction.atomic
def doubt_session(*, session: WorkSession, reason: str, by: User | None, now: datetime) -> bool:
    """The platform does not confirm the visit: its votes stay stored, and their slots go to others.

    The story that the person holds in it goes to others too. Whether anything changed.
    """
    person, session = _lock(session)
    if session.state == State.DOUBTED:
        return False
    theirs = Assignment.objects.filter(session=session)
    # All before one is written: two people may hold what the other has answered.
    counting.lock_stories(theirs.living())
    _become(session, State.DOUBTED, now=now)
    if theirs.filter(state=Assignment.State.LEASED).exists():
        give_lease_back(enrollment=person)
    counting.stop(assignments=theirs, become=Assignment.State.DOUBTED)
    _record(session, Event.Type.WORK_DOUBTED, by=by, now=now, note=reason)
    return True


def _lock(session: WorkSession) -> tuple[Enrollment, WorkSession]:
    person = lock_person(session.enrollment_id)
    return person, WorkSession.objects.select_for_update(no_key=True).get(pk=session.pk)


def _become(session: WorkSession, state: WorkSession.State, *, now: datetime) -> None:
    session.state = state
    session.settled_at = now
    session.save(update_fields=["state", "settled_at"])


def _record(
    session: WorkSession, type: Event.Type, *, by: User | None, now: datetime, note: str = ""
) -> None:
    record_event(
        study=session.enrollment.study,
        type=type,
        by=by,
        enrollment=session.enrollment,
        now=now,
        subject=f"work session {session.pk}",
        note=note,
    )
