"""Open work sessions for visits from platforms, and confirm or doubt them by the platform's word."""

from datetime import datetime

from django.db import transaction

from accounts.models import User, locked
from annotation.actions import exclusions
from annotation.actions.events import record_about
from annotation.actions.slots import lock_stories, release_assignments
from annotation.models import Assignment, Enrollment, Event, WorkSession
from annotation.sql import lock_person


@transaction.atomic
def open_session(
    *,
    enrollment: Enrollment,
    story_limit: int,
    counts_unconfirmed: bool,
    identity_claimed: bool,
    framed: bool,
    expires_at: datetime,
    now: datetime,
) -> WorkSession:
    """Open a work session of at most ``story_limit`` stories for a visit from a platform."""
    return WorkSession.objects.create(
        enrollment=enrollment,
        story_limit=story_limit,
        counts_unconfirmed=counts_unconfirmed,
        identity_claimed=identity_claimed,
        framed=framed,
        opened_at=now,
        expires_at=expires_at,
    )


@transaction.atomic
def note_test(*, session_id: int | None, finished_at: datetime | None = None) -> None:
    """Record that the test was begun in a session, or finished. Nothing for a visit by personal link."""
    if session_id is None:
        return
    tests = WorkSession.objects.filter(pk=session_id, story_limit=0)
    tests.filter(test_begun=False).update(test_begun=True)
    if finished_at:
        tests.update(test_finished_at=finished_at)


@transaction.atomic
def carry_test(*, lost: WorkSession, session: WorkSession) -> None:
    """Let a session hand in the test of an earlier one, as far as it was done."""
    session.test_begun, session.test_finished_at = lost.test_begun, lost.test_finished_at
    session.save(update_fields=["test_begun", "test_finished_at"])


@transaction.atomic
def forget_tests(*, enrollment: Enrollment) -> None:
    """Let no unconfirmed session hand in a test that somebody else did in the annotator's name."""
    sessions = WorkSession.objects.filter(enrollment=enrollment).exclude(state=WorkSession.State.CONFIRMED)
    sessions.update(test_begun=False, test_finished_at=None)


@transaction.atomic
def confirm_identity(*, session: WorkSession) -> None:
    """Record that the platform confirmed the annotator's identity, though not yet the work."""
    lock_person(session.enrollment_id)  # votes lock the enrollment, then the session
    WorkSession.objects.filter(pk=session.pk).update(identity_claimed=False)


@transaction.atomic
def confirm_session(*, session: WorkSession, by: User | None, now: datetime) -> bool:
    """Count the votes of a visit that its platform confirmed. Return False if it was confirmed already.

    The votes of a visit that was doubted before count where slots are still free.
    """
    person, session = lock_person(session.enrollment_id), locked(session)
    if session.state == WorkSession.State.CONFIRMED:
        return False
    _become(session, WorkSession.State.CONFIRMED, now=now)
    theirs = Assignment.objects.filter(session=session)
    theirs.filter(state=Assignment.State.PENDING).update(state=Assignment.State.SUBMITTED)
    theirs.filter(state=Assignment.State.DOUBTED).update(state=Assignment.State.EXCLUDED)
    if not exclusions.exclusion_in_force(person):
        exclusions.readmit(theirs, person.study)
    _record(session, Event.Type.WORK_CONFIRMED, by=by, now=now)
    return True


@transaction.atomic
def doubt_session(*, session: WorkSession, reason: str, by: User | None, now: datetime) -> bool:
    """Free the slots of a visit that its platform did not confirm; its votes stay stored.

    Release the story that the annotator holds in it. Return False if it was doubted already.
    """
    person, session = lock_person(session.enrollment_id), locked(session)
    if session.state == WorkSession.State.DOUBTED:
        return False
    theirs = Assignment.objects.filter(session=session)
    # Lock all before writing one: two annotators may each hold a story that the other has answered.
    reserved = Assignment.objects.filter(enrollment=person, state=Assignment.State.RESERVED)
    lock_stories(theirs.living() | reserved)
    _become(session, WorkSession.State.DOUBTED, now=now)
    if theirs.filter(state=Assignment.State.LEASED).exists():
        release_assignments(enrollment=person)
    exclusions.stop_counting(assignments=theirs, study=person.study, become=Assignment.State.DOUBTED)
    _record(session, Event.Type.WORK_DOUBTED, by=by, now=now, note=reason)
    return True


def _become(session: WorkSession, state: WorkSession.State, *, now: datetime) -> None:
    session.state = state
    session.settled_at = now
    session.save(update_fields=["state", "settled_at"])


def _record(
    session: WorkSession, type: Event.Type, *, by: User | None, now: datetime, note: str = ""
) -> None:
    record_about(
        person=session.enrollment, type=type, by=by, now=now, subject=f"work session {session.pk}", note=note
    )
