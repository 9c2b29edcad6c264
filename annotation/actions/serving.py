"""Assign stories and record votes. Nothing here may be lost or happen twice."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import DatabaseError, InterfaceError, OperationalError, transaction
from django.utils.translation import gettext as _

from annotation import hidden_checks, queries, rules, strata
from annotation.actions.designs import lease_reserved, lock_story_of, reserve_set, take_design_place
from annotation.actions.hidden_checks import draw_consequences
from annotation.actions.leases import free_expired_leases
from annotation.actions.slots import settle_slots, slots_of
from annotation.actions.votes import comment_of, store_vote
from annotation.errors import NotTheirs
from annotation.models import (
    HELD,
    UNANSWERED,
    Assignment,
    Enrollment,
    Story,
    SurplusReason,
    Vote,
    WorkSession,
)
from annotation.protocols.questions import Choice
from annotation.rules import Reason, Refusal
from annotation.sql import (
    give_slot,
    lock_assignment,
    lock_both_and_look,
    lock_held,
    lock_next_story,
    lock_person,
    next_check,
    taken_slots,
)

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Receipt:
    """Proof that a vote is stored. Sending the same submission again returns the same receipt."""

    vote: Vote
    differs: bool
    """True if a repeated submission has other answers; the earlier answers stay."""


def assign_next_story(
    *, enrollment: Enrollment, now: datetime, session_id: int | None = None
) -> Assignment | Refusal:
    """Return the story that the annotator holds, or lease the next story with a free slot to them.

    Asking again renews the lease. The cost does not grow with the number of stories: the search follows a
    partial index over stories with free slots. Expired leases of others are freed here too, in a
    transaction of their own, so that nobody holds a lock on one story while waiting for another.
    A refusal is a normal outcome with exactly one reason. ``session_id`` is the visit's work session,
    which limits the number of stories.
    """
    while True:
        ran_out = Assignment.objects.lease_ran_out(now).exclude(enrollment=enrollment)
        freed = free_expired_leases(now=now, sparing=enrollment) if ran_out.exists() else 0
        outcome = _assign(enrollment, session_id, now=now)
        is_nothing_free = isinstance(outcome, Refusal) and outcome.reason == Reason.NOTHING_FREE
        if not (freed and is_nothing_free):
            return outcome


@transaction.atomic
def _assign(enrollment: Enrollment, session_id: int | None, *, now: datetime) -> Assignment | Refusal:
    enrollment = lock_person(enrollment.pk)
    session = _lock_session(enrollment, session_id)
    refusal = _refusal(enrollment, session, now=now)
    held = lock_held(enrollment)
    if held and refusal in (None, Reason.STUDY_PAUSED, Reason.STUDY_CLOSED):
        held.lease_expires_at = now + enrollment.study.lease
        if not (held.session_id and session and not session.takes_answers):
            held.session = session  # the visit that shows the story now
        held.save(update_fields=["lease_expires_at", "session"])
        return held
    before_test = refusal == Reason.NOT_QUALIFIED_YET and session is None
    if before_test and not queries.stories_left(enrollment, at_most=1):  # whoever passes would get none
        return _nothing_to_serve(enrollment)
    return Refusal(refusal) if refusal else _find_story(enrollment, session, now=now)


def _lock_session(enrollment: Enrollment, session_id: int | None) -> WorkSession | None:
    """Lock and return the visit's work session, or None. Callers have locked the enrollment before."""
    if session_id is None:
        return None
    return WorkSession.objects.select_for_update(no_key=True).get(pk=session_id, enrollment=enrollment)


def _refusal(enrollment: Enrollment, session: WorkSession | None, *, now: datetime) -> Reason | None:
    refusal = queries.serving_refusal(enrollment)
    if refusal or session is None:
        return refusal
    return rules.session_refusal(
        state=session.state,
        story_limit=session.story_limit,
        stories_submitted=session.stories_submitted,
        expires_at=session.expires_at,
        now=now,
    )


def _find_story(
    enrollment: Enrollment, session: WorkSession | None, *, now: datetime
) -> Assignment | Refusal:
    """Lease a story to an annotator who may have one and holds none."""
    check = _check_due(enrollment)
    if check:
        return _lease(check, enrollment, session, now=now)
    if enrollment.study.stratum_field:
        return _next_of_set(enrollment, session, now=now)
    if enrollment.given_items and (given := lease_reserved(person=enrollment, session=session, now=now)):
        return given
    while not enrollment.study.only_given and (story := lock_next_story(enrollment)):
        assignment = _give_out(story, enrollment, session, now=now)
        if assignment:
            return assignment
    return _nothing_to_serve(enrollment)


def _next_of_set(
    enrollment: Enrollment, session: WorkSession | None, *, now: datetime
) -> Assignment | Refusal:
    """Lease the next item of the annotator's set; reserve what they lack of it first."""
    given = lease_reserved(person=enrollment, session=session, now=now)
    if given is None and not reserve_set(person=enrollment, now=now):
        return Refusal(Reason.CAP_REACHED)
    given = given or lease_reserved(person=enrollment, session=session, now=now)
    return given or _nothing_to_serve(enrollment)


def _check_due(enrollment: Enrollment) -> Story | None:
    """Return the hidden check that is due now, if any. Everybody may answer it, so it takes no slot."""
    study, person = enrollment.study, enrollment.pk
    position, every = enrollment.stories_submitted + 1, study.check_every
    whole = strata.stories_of_design(study) if every and study.stratum_field else 0
    if not hidden_checks.is_due(
        key=study.pseudonym_key, person=person, position=position, every=every, whole=whole
    ):
        return None
    has_own = bool(study.stratum_field) or study.only_given or enrollment.given_items
    if has_own and not queries.stories_left(enrollment, at_most=1):
        return None
    mask = hidden_checks.order_mask(key=study.pseudonym_key, person=person)
    return next_check(enrollment, mask, wanted=has_own)


def record_vote_and_assign_next(
    *,
    assignment_id: int,
    enrollment: Enrollment,
    submitted: Mapping[str, str],
    now: datetime,
    language: str = "en",
    session_id: int | None = None,
    comment: str = "",
) -> tuple[Receipt, Assignment | Refusal]:
    """Do :func:`record_vote` and :func:`assign_next_story` in one transaction, which costs less than two.

    Only the usual vote takes this path: the annotator held the lease (so they hold no other one and have
    no story locked), answers in the visit in which the story was assigned, and no lease of anybody else has
    expired. After any other vote, or if the search fails, the vote is stored all the same and the next story
    is assigned in its own transaction. Raise ``DatabaseError`` if the server cannot be reached.
    """
    form: dict[str, Any] = {"submitted": submitted, "comment": comment, "language": language, "now": now}
    outcome = None
    try:
        with transaction.atomic():
            locked, others_ran_out = lock_both_and_look(enrollment.pk, assignment_id, now)
            assignment = _with_session(locked, session_id)
            person = assignment.enrollment
            held = assignment.state == Assignment.State.LEASED
            receipt = _record(assignment, **form)
            is_alone = held and not person.study.most_votes  # else the vote has locked its story
            if is_alone and assignment.session_id == session_id and not others_ran_out:
                refusal = _refusal(person, assignment.session, now=now)
                outcome = Refusal(refusal) if refusal else _find_story(person, assignment.session, now=now)
    except DatabaseError as error:
        has_failed = isinstance(error, OperationalError | InterfaceError)
        if has_failed and getattr(error.__cause__, "sqlstate", None) is None:  # the server is out of reach
            raise
        logger.exception("An answer could not be stored together with the search for the next story.")
        receipt = record_vote(
            assignment_id=assignment_id, enrollment=enrollment, session_id=session_id, **form
        )
        outcome = None  # a story that was found went with the transaction
    if outcome is None:
        outcome = assign_next_story(enrollment=enrollment, now=now, session_id=session_id)
    return receipt, outcome


@transaction.atomic
def record_vote(
    *,
    assignment_id: int,
    enrollment: Enrollment,
    submitted: Mapping[str, str],
    now: datetime,
    language: str = "en",
    session_id: int | None = None,
    comment: str = "",
) -> Receipt:
    """Store the annotator's vote for an assignment, completely or not at all.

    ``submitted`` has the form's fields, ``language`` is the form's. The first submission wins: submitting
    again returns the first receipt, and a vote takes precedence over a skip. A vote too late to count is
    stored and credited as surplus. The vote belongs to the work session in which its story was assigned if
    that one takes answers, else to ``session_id``, in which it was sent, if that one does.

    Raise :class:`NotTheirs` for another annotator's assignment, or ``IncompleteForm``, and store nothing.
    """
    assignment = lock_assignment_of(lock_person(enrollment.pk), assignment_id, session_id)
    return _record(assignment, submitted, comment, language=language, now=now)


def lock_assignment_of(person: Enrollment, assignment_id: int, session_id: int | None) -> Assignment:
    """Lock and return the assignment of a person who is locked, with the work session of an answer to it.

    Raise :class:`NotTheirs` for another person's assignment.
    """
    return _with_session(lock_assignment(person, assignment_id), session_id)


def _with_session(assignment: Assignment | None, session_id: int | None) -> Assignment:
    if assignment is None:
        raise NotTheirs(_("This page belongs to another annotator’s link, so nothing was saved."))
    if assignment.state == Assignment.State.SKIPPED:  # it has been credited there
        assignment.session = _lock_session(assignment.enrollment, assignment.session_id)
    elif assignment.state in UNANSWERED:
        assignment.session = _session_of_answer(assignment, session_id)
    return assignment


def _session_of_answer(assignment: Assignment, sent_in: int | None) -> WorkSession | None:
    """Lock and return the work session that a vote belongs to. The enrollment is locked before.

    With two visits open, a form may be sent from the page of the other one. The platform's confirmation of
    that visit says nothing about this story, which was assigned for the first one.
    """
    person = assignment.enrollment
    given = _lock_session(person, assignment.session_id)
    if given is None:
        return _lock_session(person, sent_in)
    if given.takes_answers or given.pk == sent_in:
        return given
    sent = _lock_session(person, sent_in)
    return sent if sent is None or sent.takes_answers else given


def _record(
    assignment: Assignment, submitted: Mapping[str, str], comment: str, *, language: str, now: datetime
) -> Receipt:
    protocol, comment = assignment.enrollment.study.protocol, rules.words(comment)
    choices = protocol.read_form(protocol.parse(assignment.story.content), submitted)
    if assignment.state not in UNANSWERED:
        return _first_receipt(assignment, choices, comment)
    vote = store_vote(
        assignment=assignment,
        choices=choices,
        surplus=_settle_slot(assignment),
        language=language,
        submitted=submitted,
        now=now,
        comment=comment,
    )
    settle_slots(study=assignment.enrollment.study, stories=[assignment.story_id])
    draw_consequences(person=assignment.enrollment, after=assignment.story, now=now)
    return Receipt(vote=vote, differs=False)


def _give_out(
    story: Story, enrollment: Enrollment, session: WorkSession | None, *, now: datetime
) -> Assignment | None:
    """Lease the lowest free slot of a locked story to the annotator. Return None if it has none after all.

    Slots are counted in a new statement after locking, because the search may have seen the story before
    the previous holder of the lock changed it.
    """
    slots, taken = enrollment.study.votes_per_story + story.extra_votes, taken_slots(story.pk)
    slot = rules.lowest_free_slot(taken, slots)
    if slot is None:
        # The flag is a copy of what the rows say; a wrong one must not stop the study.
        logger.error("Story %s said it had a free slot but had none; mended.", story.pk)
        Story.objects.filter(pk=story.pk).mark_full()
        return None
    was_last = len(taken) + 1 == slots
    return _lease(story, enrollment, session, slot=slot, was_last=was_last, now=now)


def _lease(
    story: Story,
    enrollment: Enrollment,
    session: WorkSession | None,
    *,
    slot: int | None = None,
    was_last: bool = False,
    now: datetime,
) -> Assignment:
    assignment = Assignment(
        story=story,
        enrollment=enrollment,
        session=session,
        order_seed=enrollment.order_seed,
        option_seed=enrollment.option_seed,
        state=Assignment.State.LEASED,
        slot=slot,
        slots=enrollment.study.slots_per_story if slot else 0,
        order_position=enrollment.stories_submitted + 1,
        served_at=now,
        lease_expires_at=now + enrollment.study.lease,
    )
    give_slot(assignment, was_last=was_last)
    return assignment


def _nothing_to_serve(enrollment: Enrollment) -> Refusal:
    """Refuse: all done, or all free slots are held by others (then say when the next lease can expire)."""
    others = Assignment.objects.filter(story__study=enrollment.study_id, state__in=HELD, slot__isnull=False)
    others = others.none() if enrollment.study.only_given else others.filter(given=False)
    others = others.exclude(story__is_old_version=True)  # which is offered to nobody when its lease expires
    if enrollment.study.stratum_field:
        others = others.filter(stratum__in=strata.lacking_of(enrollment))
    theirs = Assignment.objects.filter(enrollment=enrollment).exclude(state=Assignment.State.EXPIRED)
    open_to_them = others.exclude(story__in=theirs.values("story")).order_by("lease_expires_at")
    soonest = open_to_them.values_list("lease_expires_at", flat=True).first()
    if soonest is None:
        waits = enrollment.study.only_given and not theirs.filter(given=True).exists()
        return Refusal(Reason.NOTHING_GIVEN if waits else Reason.ALL_DONE)
    return Refusal(Reason.NOTHING_FREE, retry_at=soonest)


def _take_slot_again(assignment: Assignment) -> bool:
    """Give an assignment with an expired lease a slot again, if its story has a free one."""
    lock_story_of(assignment)
    story = assignment.story_id
    taken, slots = taken_slots(story), slots_of(assignment.enrollment.study, [story])[story]
    slot = rules.lowest_free_slot(taken, slots)
    if slot is None or not take_design_place(assignment=assignment):
        return False
    assignment.slot = slot
    if assignment.stratum_id:
        assignment.save(update_fields=["place"])
    if len(taken) + 1 == slots:
        Story.objects.filter(pk=story).mark_full()
    return True


def _settle_slot(assignment: Assignment) -> SurplusReason:
    """Let the vote keep or get a slot, in which case it counts. Return why it is surplus.

    ``NONE`` means “not surplus”: a doubted visit's vote has no slot, but counts if the platform confirms it.
    """
    is_out = assignment.enrollment.state != Enrollment.State.QUALIFIED
    is_doubted = bool(assignment.session and assignment.session.state == WorkSession.State.DOUBTED)
    if is_out or is_doubted:
        if assignment.state in HELD:
            lock_story_of(assignment)
            Story.objects.filter(pk=assignment.story_id).mark_free()
        return SurplusReason.NOT_QUALIFIED if is_out else SurplusReason.NONE
    needs_slot = assignment.slot is not None and assignment.state not in HELD
    if needs_slot and not _take_slot_again(assignment):
        return SurplusReason.LATE
    return SurplusReason.NONE


def _first_receipt(assignment: Assignment, choices: tuple[Choice, ...], comment: str) -> Receipt:
    vote = assignment.votes.order_by("revision").first()
    if vote is None:
        raise RuntimeError(f"Assignment {assignment.pk} is answered but has no vote; run check_integrity.")
    stored = {answer.choice for answer in vote.answers.all()}
    return Receipt(vote=vote, differs=stored != set(choices) or comment_of(vote) != comment)
