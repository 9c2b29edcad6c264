"""Votes that stop counting, and count again: all of a person's, or one.

Nothing here touches a vote. The assignment's state says whether its vote counts; while it does not, its
slot is free and served to others. Locks go in the order of docs/adr/0003: the person, then stories, and
these in the order of their ids. See docs/adr/0022.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from accounts.models import User
from annotation import rules
from annotation.actions import counting
from annotation.actions.enrollments import give_lease_back, reinstate, suspend
from annotation.actions.events import record_event
from annotation.errors import ReasonMissing, WrongState
from annotation.models import Assignment, Enrollment, Event, VoteExclusion
from annotation.sql import lock_person

LONGEST_REASON = 300
"""Characters of the reason for taking votes out, or for taking them in again."""

_CAN_BE_EXCLUDED = ("consented", "qualified", "suspended", "withdrawn")


@dataclass(frozen=True, slots=True)
class Readmission:
    """What became of the votes when an exclusion was lifted."""

    exclusion: VoteExclusion
    counting: int
    """Votes on main stories that count again."""
    displaced: int
    """Votes whose slot somebody else had filled: surplus from now on."""


@transaction.atomic
def exclude_annotator(
    *, enrollment: Enrollment, reason: str, told: str, by: User | None, now: datetime
) -> VoteExclusion:
    """None of the person's votes counts any more; their slots are served to others.

    The person is suspended with it (unless they are already, or have left) and reads ``told``, not the
    ``reason``, which is for the log. The story they hold goes to others at once. Their votes stay stored
    and credited. Raises :class:`ReasonMissing`, and :class:`WrongState` for somebody who is excluded
    already or has not come as far as the stories.
    """
    reason = check_reason(reason)
    person = lock_person(enrollment.pk)
    if standing_exclusion(person):
        raise WrongState(_("The votes of this person are excluded already."))
    if person.state not in _CAN_BE_EXCLUDED:
        raise WrongState(
            _("Somebody who is %(state)s has given no votes that could be excluded.")
            % {"state": person.get_state_display()}
        )
    suspends = Enrollment.State.SUSPENDED in rules.ENROLLMENT_TRANSITIONS[person.state]
    if suspends:
        suspend(enrollment=person, by=by, now=now, reason=told)
    # All before one is written: two people may hold what the other has answered.
    counting.lock_stories(Assignment.objects.living().filter(enrollment=person))
    give_lease_back(enrollment=person)
    exclusion = VoteExclusion.objects.create(
        enrollment=person, reason=reason, suspended=suspends, excluded_by=by, excluded_at=now
    )
    counting.stop(assignments=Assignment.objects.filter(enrollment=person), become=Assignment.State.EXCLUDED)
    _record(exclusion, Event.Type.ANNOTATOR_EXCLUDED, by=by, now=now, note=reason)
    return exclusion


@transaction.atomic
def readmit_annotator(*, enrollment: Enrollment, reason: str, by: User | None, now: datetime) -> Readmission:
    """The person's votes count again as far as their slots are still free; the others are surplus.

    Votes that a spot check took out stay out. Whoever was suspended with the exclusion may go on. Raises
    :class:`ReasonMissing`, and :class:`WrongState` for somebody who is not excluded.
    """
    reason = check_reason(reason)
    person = lock_person(enrollment.pk)
    exclusion = standing_exclusion(person)
    if exclusion is None:
        raise WrongState(_("The votes of this person are not excluded."))
    _lift(exclusion, reason, by=by, now=now)
    readmission = _readmit(exclusion, Assignment.objects.filter(enrollment=person))
    if exclusion.suspended and person.state == Enrollment.State.SUSPENDED:
        reinstate(enrollment=person, by=by, now=now, reason=reason)
    _record(exclusion, Event.Type.ANNOTATOR_READMITTED, by=by, now=now, note=reason)
    return readmission


@transaction.atomic
def exclude_vote(
    *, assignment: Assignment, reason: str, by: User | None, now: datetime
) -> VoteExclusion | None:
    """The vote of this assignment does not count any more; its slot is served to others.

    None when there is nothing to take out: it is surplus, or out by an exclusion of its own already.
    Raises :class:`ReasonMissing`.
    """
    reason = check_reason(reason)
    lock_person(assignment.enrollment_id)
    assignment.refresh_from_db(fields=["state"])
    counts = assignment.state in (*counting.COUNTING, Assignment.State.EXCLUDED)
    if not counts or assignment.vote_exclusions.standing().exists():
        return None
    exclusion = VoteExclusion.objects.create(
        enrollment_id=assignment.enrollment_id,
        assignment=assignment,
        reason=reason,
        excluded_by=by,
        excluded_at=now,
    )
    counting.stop(assignments=Assignment.objects.filter(pk=assignment.pk), become=Assignment.State.EXCLUDED)
    _record(exclusion, Event.Type.VOTE_EXCLUDED, by=by, now=now, note=reason)
    return exclusion


@transaction.atomic
def readmit_vote(
    *, assignment: Assignment, reason: str, by: User | None, now: datetime
) -> Readmission | None:
    """The vote counts again if its slot is still free, else it is surplus. None when it was not excluded.

    A vote whose author is excluded stays out until they are readmitted. Raises :class:`ReasonMissing`.
    """
    reason = check_reason(reason)
    person = lock_person(assignment.enrollment_id)
    exclusion = assignment.vote_exclusions.standing().first()
    if exclusion is None:
        return None
    _lift(exclusion, reason, by=by, now=now)
    theirs = Assignment.objects.filter(pk=assignment.pk)
    readmission = _readmit(exclusion, theirs.none() if standing_exclusion(person) else theirs)
    _record(exclusion, Event.Type.VOTE_READMITTED, by=by, now=now, note=reason)
    return readmission


def standing_exclusion(enrollment: Enrollment) -> VoteExclusion | None:
    """The exclusion of everything the person answered, if there is one."""
    return VoteExclusion.objects.standing().of_people().filter(enrollment=enrollment).first()


def check_reason(reason: str) -> str:
    """The reason without spaces around it. Raises :class:`ReasonMissing` when it says nothing or too much."""
    reason = reason.strip()
    if "\0" in reason or not 1 <= len(reason) <= LONGEST_REASON:
        raise ReasonMissing(
            _("Give the reason in 1 to %(most)s characters. It is kept in the log.")
            % {"most": LONGEST_REASON}
        )
    return reason


def _readmit(exclusion: VoteExclusion, assignments: QuerySet[Assignment]) -> Readmission:
    """Let those count that no other exclusion keeps out."""
    kept_out = VoteExclusion.objects.standing().exclude(assignment=None).values("assignment")
    excluded = assignments.filter(state=Assignment.State.EXCLUDED).exclude(pk__in=kept_out)
    readmitted, displaced = counting.again(assignments=excluded)
    return Readmission(exclusion, counting=readmitted, displaced=displaced)


def _lift(exclusion: VoteExclusion, reason: str, *, by: User | None, now: datetime) -> None:
    exclusion.lifted_by = by
    exclusion.lifted_at = max(now, exclusion.excluded_at)
    exclusion.lifted_because = reason
    exclusion.save(update_fields=["lifted_by", "lifted_at", "lifted_because"])


def _record(exclusion: VoteExclusion, type: Event.Type, *, by: User | None, now: datetime, note: str) -> None:
    person = exclusion.enrollment
    record_event(
        study=person.study,
        type=type,
        by=by,
        enrollment=person,
        now=now,
        subject=f"exclusion {exclusion.pk}",
        note=note,
    )
