"""Exclude votes from the count and restore them while slots are free: all votes of an annotator, or one.

Votes never change. The assignment's state says whether its vote counts; while it does not, its slot is
free and served to others. Locks are taken in the order of docs/adr/0003: the enrollment, then stories by
id; and slots are counted in a new statement after that, as when a story is assigned. See docs/adr/0022.
"""

from datetime import datetime
from typing import NamedTuple

from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from accounts.models import User
from annotation import rules
from annotation.actions.designs import Places, places_held
from annotation.actions.enrollments import reinstate, suspend
from annotation.actions.events import record_about
from annotation.actions.slots import (
    ANSWERED_WITH_SLOT,
    lock_in_order,
    lock_stories,
    release_assignments,
    settle_slots,
    slots_of,
    slots_taken,
)
from annotation.errors import WrongState
from annotation.models import Assignment, Enrollment, Event, Story, Stratum, Study, VoteExclusion
from annotation.reasons import check_reason
from annotation.sql import lock_person

AT_ONCE = 500
"""Assignments written in one statement."""


class Recount(NamedTuple):
    """The outcome of letting votes count again."""

    counting: int
    """Votes on main stories that count again."""
    displaced: int
    """Votes whose slot was taken meanwhile: surplus from now on."""


@transaction.atomic
def exclude_annotator(
    *, enrollment: Enrollment, reason: str, shown_reason: str, by: User | None, now: datetime
) -> VoteExclusion:
    """Exclude all votes of the annotator; their slots are served to others.

    Also suspend the annotator, unless they are suspended or have left: they read ``shown_reason``, and the
    log keeps the ``reason``. Release the story they hold. Votes stay stored and credited. Raise
    :class:`ReasonMissing`, and :class:`WrongState` for an annotator who is excluded already or has not
    reached the stories.
    """
    reason = check_reason(reason)
    person = lock_person(enrollment.pk)
    if exclusion_in_force(person):
        raise WrongState(_("This participant’s votes are already excluded."))
    if person.state not in rules.CAN_BE_EXCLUDED:
        raise WrongState(
            _("A participant who is %(state)s has no votes to exclude."), state=person.get_state_display()
        )
    suspends = Enrollment.State.SUSPENDED in rules.ENROLLMENT_TRANSITIONS[person.state]
    # Lock all before writing one: two annotators may each hold a story that the other has answered.
    lock_stories(Assignment.objects.living().filter(enrollment=person))
    if suspends:
        suspend(enrollment=person, by=by, now=now, reason=shown_reason)
    release_assignments(enrollment=person, given=True)
    exclusion = VoteExclusion.objects.create(
        enrollment=person, reason=reason, suspended=suspends, excluded_by=by, excluded_at=now
    )
    theirs = Assignment.objects.filter(enrollment=person)
    stop_counting(assignments=theirs, study=person.study, become=Assignment.State.EXCLUDED)
    _record(exclusion, Event.Type.ANNOTATOR_EXCLUDED, by=by, now=now, note=reason)
    return exclusion


@transaction.atomic
def readmit_annotator(*, enrollment: Enrollment, reason: str, by: User | None, now: datetime) -> Recount:
    """Let the annotator's votes count again where slots are still free; the others become surplus.

    Votes that a spot check excluded stay excluded. A suspension that came with the exclusion ends. Raise
    :class:`ReasonMissing`, and :class:`WrongState` for an annotator who is not excluded.
    """
    reason = check_reason(reason)
    person = lock_person(enrollment.pk)
    exclusion = exclusion_in_force(person)
    if exclusion is None:
        raise WrongState(_("This participant’s votes are not excluded."))
    _lift(exclusion, reason, by=by, now=now)
    recount = readmit(Assignment.objects.filter(enrollment=person), person.study)
    if exclusion.suspended and person.state == Enrollment.State.SUSPENDED:
        reinstate(enrollment=person, by=by, now=now, reason=reason)
    _record(exclusion, Event.Type.ANNOTATOR_READMITTED, by=by, now=now, note=reason)
    return recount


@transaction.atomic
def exclude_vote(
    *, assignment: Assignment, reason: str, by: User | None, now: datetime
) -> VoteExclusion | None:
    """Exclude the vote of this assignment; its slot is served to others.

    Return None if the vote is surplus or excluded already. Raise :class:`ReasonMissing`.
    """
    reason = check_reason(reason)
    person = lock_person(assignment.enrollment_id)
    assignment.refresh_from_db(fields=["state"])
    counts = assignment.state in (*ANSWERED_WITH_SLOT, Assignment.State.EXCLUDED)
    if not counts or assignment.vote_exclusions.in_force().exists():
        return None
    exclusion = VoteExclusion.objects.create(
        enrollment_id=assignment.enrollment_id,
        assignment=assignment,
        reason=reason,
        excluded_by=by,
        excluded_at=now,
    )
    alone = Assignment.objects.filter(pk=assignment.pk)
    stop_counting(assignments=alone, study=person.study, become=Assignment.State.EXCLUDED)
    _record(exclusion, Event.Type.VOTE_EXCLUDED, by=by, now=now, note=reason)
    return exclusion


@transaction.atomic
def readmit_vote(*, assignment: Assignment, reason: str, by: User | None, now: datetime) -> Recount | None:
    """Let the vote count again if a slot is free, else make it surplus. Return None if it was not excluded.

    A vote whose author is excluded stays so until they are readmitted. Raise :class:`ReasonMissing`.
    """
    reason = check_reason(reason)
    person = lock_person(assignment.enrollment_id)
    exclusion = assignment.vote_exclusions.in_force().first()
    if exclusion is None:
        return None
    _lift(exclusion, reason, by=by, now=now)
    theirs = Assignment.objects.filter(pk=assignment.pk)
    recount = readmit(theirs.none() if exclusion_in_force(person) else theirs, person.study)
    _record(exclusion, Event.Type.VOTE_READMITTED, by=by, now=now, note=reason)
    return recount


def exclusion_in_force(enrollment: Enrollment) -> VoteExclusion | None:
    """Return the exclusion of all the annotator's votes, or None."""
    return VoteExclusion.objects.in_force().of_people().filter(enrollment=enrollment).first()


def readmit(assignments: QuerySet[Assignment], study: Study) -> Recount:
    """Restore the assignments that no other exclusion covers."""
    excluded_alone = VoteExclusion.objects.in_force().exclude(assignment=None).values("assignment")
    excluded = assignments.filter(state=Assignment.State.EXCLUDED).exclude(pk__in=excluded_alone)
    return restore_votes(assignments=excluded, study=study)


def _lift(exclusion: VoteExclusion, reason: str, *, by: User | None, now: datetime) -> None:
    exclusion.lifted_by = by
    exclusion.lifted_at = max(now, exclusion.excluded_at)
    exclusion.lifted_because = reason
    exclusion.save(update_fields=["lifted_by", "lifted_at", "lifted_because"])


def _record(exclusion: VoteExclusion, type: Event.Type, *, by: User | None, now: datetime, note: str) -> None:
    person = exclusion.enrollment
    record_about(person=person, type=type, by=by, now=now, subject=f"exclusion {exclusion.pk}", note=note)


def stop_counting(*, assignments: QuerySet[Assignment], study: Study, become: Assignment.State) -> int:
    """Give answered assignments another state and free their slots. Return how many held a slot.

    Callers hold the enrollment's lock.
    """
    holding = assignments.filter(state__in=ANSWERED_WITH_SLOT)
    stories = lock_stories(holding)
    stopped = holding.update(state=become)
    Story.objects.filter(pk__in=stories).mark_free()
    settle_slots(study=study, stories=stories)
    return stopped


def restore_votes(*, assignments: QuerySet[Assignment], study: Study) -> Recount:
    """Give assignments a slot again where their story has a free one; the others become surplus.

    An answer from a visit that its platform does not confirm stays excluded. Callers hold the enrollment's
    lock.
    """
    lock_in_order(Stratum.objects.filter(pk__in=assignments.values("stratum")))
    stories = lock_stories(assignments)
    taken, slots = slots_taken(stories), slots_of(study, stories)
    found = list(assignments.select_related("session").order_by("story_id"))
    places = places_held(*{assignment.enrollment_id for assignment in found if assignment.load})
    settled = [_restore(one, taken[one.story_id], slots[one.story_id], places) for one in found]
    full = [story for story in settled if story is not None]
    Assignment.objects.bulk_update(found, ["state", "slot", "place"], batch_size=AT_ONCE)
    Story.objects.filter(pk__in=full).mark_full()
    settle_slots(study=study, stories=stories)
    counting = sum(one.state in ANSWERED_WITH_SLOT and one.slot is not None for one in found)
    return Recount(counting, displaced=sum(one.state == Assignment.State.DISPLACED for one in found))


def _restore(assignment: Assignment, taken: set[int | None], slots: int, places: Places) -> int | None:
    """Set the assignment's state, slot (one of the story's ``slots``), and place in a design.

    Return the story's id if it has no free slot left.
    """
    session = assignment.session
    state = rules.state_of_answer(
        session.state if session else None, counts_unconfirmed=bool(session and session.counts_unconfirmed)
    )
    if state == Assignment.State.DOUBTED or assignment.slot is None:  # a hidden check has no slot
        assignment.state = state
        return None
    slot = rules.lowest_free_slot(taken, slots)
    held = places[assignment.enrollment_id, assignment.stratum_id]
    place = rules.lowest_free_slot(held, assignment.load) if assignment.load else None
    if slot is None or (assignment.load and place is None):
        assignment.state = Assignment.State.DISPLACED
        return None
    if place:
        assignment.place = place
        held.add(place)
    assignment.state, assignment.slot = state, slot
    return assignment.story_id if len(taken) + 1 == slots else None
