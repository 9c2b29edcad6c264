"""Giving out stories and taking answers: the part that must never lose or double anything."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from django.db import DatabaseError, transaction
from django.utils.translation import gettext as _

from annotation import checks, rules
from annotation.actions.checking import draw_consequences
from annotation.actions.votes import store_vote
from annotation.errors import NotTheirs
from annotation.models import (
    UNANSWERED,
    Assignment,
    Enrollment,
    Story,
    SurplusReason,
    Vote,
    WorkSession,
)
from annotation.protocols import is_installed
from annotation.protocols.base import Choice
from annotation.rules import Reason, Refusal
from annotation.sql import (
    give_slot,
    lock_assignment,
    lock_held,
    lock_next_story,
    lock_person,
    next_check,
    others_lease_ran_out,
    taken_slots,
)

logger = logging.getLogger(__name__)

RECLAIM_AT_ONCE = 20
"""How many leases that ran out are freed in one go: few rows locked, for a short time."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """The proof that an answer is stored. Sending the same submission again gives the same one."""

    vote: Vote
    repeated: bool
    """True when the answer had been stored by an earlier submission."""
    differs: bool
    """True when a repeated submission said something else; the earlier answers stand."""


def assign_next_story(
    *, enrollment: Enrollment, now: datetime, session_id: int | None = None
) -> Assignment | Refusal:
    """The story this person should work on: the one they hold, else the next one with a free slot.

    Asking again renews the lease, so a person who is here keeps their story. The cost does not grow
    with the number of stories: the search runs along a partial index over stories with free slots.
    A lease that ran out is a free slot from then on: it is freed here, whether or not the beat runs,
    in a transaction of its own, so that nobody keeps a story locked while they wait for another one.
    A refusal is an ordinary outcome and says the one reason. ``session_id``: the work session of the
    visit, which gives out no more stories than it is for.
    """
    while True:
        freed = _free_what_ran_out(enrollment, now=now)
        outcome = _assign(enrollment, session_id, now=now)
        if not (freed and _is_nothing_free(outcome)):
            return outcome


@transaction.atomic
def _assign(enrollment: Enrollment, session_id: int | None, *, now: datetime) -> Assignment | Refusal:
    enrollment = lock_person(enrollment.pk)
    session = _lock_session(enrollment, session_id)
    refusal = _refusal(enrollment, session, now=now)
    held = lock_held(enrollment)
    if held and refusal in (None, Reason.STUDY_PAUSED, Reason.STUDY_CLOSED):
        held.lease_expires_at = now + enrollment.study.lease
        held.session = _session_to_hold_in(held, session)
        held.save(update_fields=["lease_expires_at", "session"])
        return held
    return Refusal(refusal) if refusal else _find_story(enrollment, session, now=now)


def _lock_session(enrollment: Enrollment, session_id: int | None) -> WorkSession | None:
    """The work session of the visit, locked after its person; None for a visit that has none."""
    if session_id is None:
        return None
    return WorkSession.objects.select_for_update(no_key=True).get(pk=session_id, enrollment=enrollment)


def _session_to_hold_in(held: Assignment, session: WorkSession | None) -> WorkSession | None:
    """A story that is held goes with the page that shows it, unless that visit's work is done already."""
    stays = held.session_id and session and not session.takes_answers
    return held.session if stays else session


def _refusal(enrollment: Enrollment, session: WorkSession | None, *, now: datetime) -> Reason | None:
    refusal = rules.may_be_served(standing(enrollment))
    if refusal or session is None:
        return refusal
    return rules.may_go_on(
        state=session.state,
        story_limit=session.story_limit,
        stories_submitted=session.stories_submitted,
        expires_at=session.expires_at,
        now=now,
    )


def _find_story(
    enrollment: Enrollment, session: WorkSession | None, *, now: datetime
) -> Assignment | Refusal:
    """A story for somebody who may have one and holds none."""
    check = _check_due(enrollment)
    if check:
        return _lease(check, enrollment, session, now=now)
    while story := lock_next_story(enrollment):
        assignment = _give_out(story, enrollment, session, now=now)
        if assignment:
            return assignment
    return _nothing_to_serve(enrollment)


def _check_due(enrollment: Enrollment) -> Story | None:
    """The hidden check that comes now, if one does. Anybody may answer it, so it takes no slot."""
    study, person = enrollment.study, enrollment.pk
    position = enrollment.stories_submitted + 1
    if not checks.is_due(key=study.pseudonym_key, person=person, position=position, every=study.check_every):
        return None
    return next_check(enrollment, checks.order_mask(key=study.pseudonym_key, person=person))


def record_vote_and_assign_next(
    *,
    assignment_id: int,
    enrollment: Enrollment,
    submitted: Mapping[str, str],
    now: datetime,
    language: str = "en",
    session_id: int | None = None,
) -> tuple[Receipt, Assignment | Refusal]:
    """:func:`record_vote` and :func:`assign_next_story` in one transaction, which costs less than two.

    Only the usual answer goes that way: of somebody who held their lease, and so holds no other one now,
    who has no story locked, and who answers in the visit in which the story was given. After any other,
    and when looking for the next story fails, the answer is stored all the same, and the next story is
    looked for in a transaction of its own.
    """
    freed = _free_what_ran_out(enrollment, now=now)
    outcome = None
    with transaction.atomic():
        assignment = _lock_assignment_of(enrollment, assignment_id, session_id)
        held = assignment.state == Assignment.State.LEASED
        receipt = _record(assignment, submitted, language=language, now=now)
        if held and assignment.session_id == session_id:
            outcome = _try_to_assign_after(assignment, now=now)
    if outcome is None or (freed and _is_nothing_free(outcome)):
        outcome = assign_next_story(enrollment=enrollment, now=now, session_id=session_id)
    return receipt, outcome


def _try_to_assign_after(answered: Assignment, *, now: datetime) -> Assignment | Refusal | None:
    """The next story of the one who has just answered; None when the database could not find one.

    Raises ``DatabaseError`` when the answer is lost with it, as when the connection is.
    """
    enrollment, session = answered.enrollment, answered.session
    refusal = _refusal(enrollment, session, now=now)
    try:
        with transaction.atomic():
            return Refusal(refusal) if refusal else _find_story(enrollment, session, now=now)
    except DatabaseError:
        if transaction.get_rollback():
            raise  # not even the savepoint could be gone back to, so the answer will not be stored
        logger.exception("No story could be found together with storing an answer; trying again without.")
        return None


@transaction.atomic
def record_vote(
    *,
    assignment_id: int,
    enrollment: Enrollment,
    submitted: Mapping[str, str],
    now: datetime,
    language: str = "en",
    session_id: int | None = None,
) -> Receipt:
    """Store what a person submitted for an assignment of theirs, whole or not at all.

    ``submitted`` maps form field names to option keys; ``language`` is that of the form. Whatever
    came first stands: the same assignment submitted again gives the first receipt. An answer that
    comes too late to count is stored and credited all the same, as surplus with its reason. The answer
    belongs to the work session in which its story was given, as long as that one is open and wants more;
    else to ``session_id``, in which it was sent, if that one does.

    Raises :class:`NotTheirs` when the assignment is not this person's, and ``IncompleteForm`` (from
    the protocol) when the form is not complete; neither stores anything.
    """
    assignment = _lock_assignment_of(enrollment, assignment_id, session_id)
    return _record(assignment, submitted, language=language, now=now)


def _lock_assignment_of(enrollment: Enrollment, assignment_id: int, session_id: int | None) -> Assignment:
    assignment = lock_assignment(lock_person(enrollment.pk), assignment_id)
    if assignment is None:
        raise NotTheirs(_("This page belongs to somebody else's link, so nothing was saved."))
    if assignment.state in UNANSWERED:
        assignment.session = _session_of_answer(assignment, session_id)
    return assignment


def _session_of_answer(assignment: Assignment, sent_in: int | None) -> WorkSession | None:
    """The work session that an answer belongs to, locked after its person.

    With two pieces of work open, a form may be sent in the page of the other one: what the platform has
    confirmed of that one says nothing about this story, and the piece of work it was given for wants it.
    """
    person = assignment.enrollment
    given = _lock_session(person, assignment.session_id)
    if given is None:
        return _lock_session(person, sent_in)
    if given.takes_answers or given.pk == sent_in:
        return given
    sent = _lock_session(person, sent_in)
    return sent if sent is None or sent.takes_answers else given


def _record(assignment: Assignment, submitted: Mapping[str, str], *, language: str, now: datetime) -> Receipt:
    protocol = assignment.enrollment.study.protocol
    choices = protocol.read_form(protocol.parse(assignment.story.content), submitted)
    if assignment.state not in UNANSWERED:
        return _first_receipt(assignment, choices)
    surplus = _settle_slot(assignment)
    vote = store_vote(assignment=assignment, choices=choices, surplus=surplus, language=language, now=now)
    if assignment.session:
        assignment.session.stories_submitted += 1
        assignment.session.save(update_fields=["stories_submitted"])
    draw_consequences(assignment.enrollment, after=assignment.story, now=now)
    return Receipt(vote=vote, repeated=False, differs=False)


def release_expired_leases(*, now: datetime) -> int:
    """Free every slot whose lease ran out, a few at a time; returns how many."""
    freed = 0
    while batch := _free_expired_leases(now=now):
        freed += batch
    return freed


def standing(enrollment: Enrollment) -> rules.Standing:
    """What the gate looks at. The enrollment must carry its study (``select_related``)."""
    study = enrollment.study
    return rules.Standing(
        study_state=study.state,
        study_environment=study.environment,
        study_consent_version=study.consent_version,
        protocol_installed=is_installed(study.protocol_name, study.protocol_version),
        story_cap=study.story_cap,
        enrollment_state=enrollment.state,
        environment=enrollment.environment,
        consent_version=enrollment.consent.version if enrollment.consent else 0,
        stories_submitted=enrollment.stories_submitted,
    )


def _free_what_ran_out(enrollment: Enrollment, *, now: datetime) -> int:
    """Free a few slots of others for somebody who is about to be given a story; returns how many."""
    return _free_expired_leases(now=now, sparing=enrollment) if others_lease_ran_out(enrollment, now) else 0


def _is_nothing_free(outcome: Assignment | Refusal) -> bool:
    return isinstance(outcome, Refusal) and outcome.reason == Reason.NOTHING_FREE


@transaction.atomic
def _free_expired_leases(*, now: datetime, sparing: Enrollment | None = None) -> int:
    """Free a few slots whose lease ran out, in one transaction; returns how many.

    Never waits: what somebody else is busy with is skipped. ``sparing`` is somebody who is here.
    """
    ran_out = Assignment.objects.lease_ran_out(now).exclude(enrollment=sparing)
    freed = list(
        ran_out.select_for_update(of=("self", "story"), no_key=True, skip_locked=True)
        .select_related("story")
        .order_by("lease_expires_at")[:RECLAIM_AT_ONCE]
    )
    Assignment.objects.filter(pk__in=[a.pk for a in freed]).update(state=Assignment.State.EXPIRED)
    Story.objects.main().filter(pk__in={a.story_id for a in freed}).update(has_free_slot=True)
    return len(freed)


def _give_out(
    story: Story, enrollment: Enrollment, session: WorkSession | None, *, now: datetime
) -> Assignment | None:
    """The lowest free slot of a locked story, leased to the person; None if it has none after all.

    The slots are counted in a new statement after the lock, because the search may have looked at
    the story before the last person let go of it.
    """
    slots = enrollment.study.votes_per_story
    taken = taken_slots(story)
    slot = rules.lowest_free_slot(taken, slots)
    if slot is None:
        # The flag is a copy of what the rows say; a wrong one must not stop the study.
        logger.error("Story %s said it had a free slot but had none; mended.", story.pk)
        Story.objects.filter(pk=story.pk).update(has_free_slot=False)
        return None
    was_last = len(taken) + 1 == slots
    return _lease(story, enrollment, session, slot=slot, slots=slots, was_last=was_last, now=now)


def _lease(
    story: Story,
    enrollment: Enrollment,
    session: WorkSession | None,
    *,
    slot: int | None = None,
    slots: int = 0,
    was_last: bool = False,
    now: datetime,
) -> Assignment:
    assignment = Assignment(
        story=story,
        enrollment=enrollment,
        session=session,
        state=Assignment.State.LEASED,
        slot=slot,
        slots=slots,
        order_position=enrollment.stories_submitted + 1,
        served_at=now,
        lease_expires_at=now + enrollment.study.lease,
    )
    give_slot(assignment, was_last=was_last)
    return assignment


def _nothing_to_serve(enrollment: Enrollment) -> Refusal:
    """All done, or all free slots held by others for now (then: when the next lease can run out)."""
    others = Assignment.objects.filter(
        story__study=enrollment.study_id, state=Assignment.State.LEASED, slot__isnull=False
    )
    theirs = Assignment.objects.filter(enrollment=enrollment).exclude(state=Assignment.State.EXPIRED)
    soonest = (
        others.exclude(story__in=theirs.values("story"))
        .order_by("lease_expires_at")
        .values_list("lease_expires_at", flat=True)
        .first()
    )
    if soonest is None:
        return Refusal(Reason.ALL_DONE)
    return Refusal(Reason.NOTHING_FREE, retry_at=soonest)


def _take_slot_again(assignment: Assignment) -> bool:
    """Give an assignment whose lease ran out a slot again, if its story still has one free."""
    story = Story.objects.select_for_update(of=("self",), no_key=True).get(pk=assignment.story_id)
    taken = taken_slots(story)
    slot = rules.lowest_free_slot(taken, assignment.slots)
    if slot is None:
        return False
    assignment.slot = slot
    if len(taken) + 1 == assignment.slots:
        Story.objects.filter(pk=story.pk).update(has_free_slot=False)
    return True


def _settle_slot(assignment: Assignment) -> SurplusReason:
    """Whether an answer that has come holds a slot (then it counts), or why not."""
    if assignment.enrollment.state != Enrollment.State.QUALIFIED:
        if assignment.state == Assignment.State.LEASED:
            Story.objects.main().filter(pk=assignment.story_id).update(has_free_slot=True)
        return SurplusReason.NOT_QUALIFIED
    if assignment.session and assignment.session.state == WorkSession.State.DOUBTED:
        if assignment.state == Assignment.State.LEASED:
            Story.objects.main().filter(pk=assignment.story_id).update(has_free_slot=True)
        return SurplusReason.NONE  # it waits without a slot, in case the platform confirms it after all
    needs_slot = assignment.slot is not None and assignment.state == Assignment.State.EXPIRED
    if needs_slot and not _take_slot_again(assignment):
        return SurplusReason.LATE
    return SurplusReason.NONE


def _first_receipt(assignment: Assignment, choices: tuple[Choice, ...]) -> Receipt:
    vote = assignment.votes.order_by("revision").first()
    if vote is None:
        raise RuntimeError(f"Assignment {assignment.pk} is answered but has no vote; run check_integrity.")
    stored = {Choice(a.question, a.row, a.option) for a in vote.answers.all()}
    return Receipt(vote=vote, repeated=True, differs=stored != set(choices))
