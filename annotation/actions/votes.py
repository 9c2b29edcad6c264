"""Store votes, and change them: a new revision counts, and the old one stays stored."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from annotation import locks, rules, signs, sql, working_time
from annotation.actions.hidden_checks import graded, record_failure
from annotation.actions.instructions import instructions_shown
from annotation.actions.slots import settle_slots
from annotation.errors import CannotChange, NotTheirs
from annotation.models import Assignment, Comment, Enrollment, Event, Story, SurplusReason, Vote
from annotation.protocols.questions import Choice


def store_vote(
    *,
    assignment: Assignment,
    choices: Sequence[Choice],
    surplus: SurplusReason,
    language: str,
    submitted: Mapping[str, str],
    now: datetime,
    instead_of: Vote | None = None,
    comment: str = "",
) -> Vote:
    """Store a vote with its answers, context and event: the first one, or a revision ``instead_of`` another.

    ``submitted`` is the form that made the ``choices``, which says what instructions it stood beside, and
    what the browser reports of the input (:mod:`annotation.signs`). Callers hold the locks of the enrollment
    and the assignment, which carries its story, and its enrollment with the study. The first vote completes
    the assignment, which must have its final slot, and is credited to the annotator.
    """
    person = assignment.enrollment
    study = person.study
    protocol = study.protocol
    item = protocol.parse(assignment.story.content)
    reported = signs.read(submitted.get(signs.FIELD, ""))
    # A clock that was set back must not lose an answer.
    submitted_at = max(now, instead_of.submitted_at if instead_of else assignment.served_at)
    vote = Vote(
        assignment=assignment,
        revision=instead_of.revision + 1 if instead_of else 1,
        protocol_version=study.protocol_version,
        language=language,
        instructions_id=instructions_shown(study, submitted),
        story_hash=assignment.story.content_hash,
        order_position=assignment.order_position,
        order_seed=assignment.order_seed,
        option_seed=assignment.option_seed,
        served_at=assignment.served_at,
        first_submitted_at=instead_of.first_submitted_at if instead_of else submitted_at,
        submitted_at=submitted_at,
        environment=person.environment,
        surplus_reason=surplus,
        trusted_events=reported.trusted,
        untrusted_events=reported.untrusted,
    )
    event = Event(
        study=study,
        enrollment=person,
        type=Event.Type.VOTE_CHANGED if instead_of else Event.Type.VOTE_SUBMITTED,
        note=f"instead of vote {instead_of.pk}" if instead_of else surplus,
        at=now,
    )
    if not instead_of:
        _complete(vote, now=now)
    against = [protocol.counts_against(item, choice) for choice in choices]
    result = graded(assignment.story, vote, choices)
    seconds = [reported.seconds.get(choice.field) for choice in choices]
    sql.store_vote(
        vote,
        choices,
        against,
        seconds,
        written=protocol.written,
        event=event,
        completes=not instead_of,
        result=result,
        comment=comment,
    )
    if result and not result.passed:
        record_failure(result=result, story=assignment.story, person=person, now=now)
    return vote


@transaction.atomic
def change_vote(
    *,
    assignment_id: int,
    enrollment: Enrollment,
    submitted: Mapping[str, str],
    now: datetime,
    language: str = "en",
    revision: int | None = None,
    comment: str | None = None,
) -> Vote:
    """Store changed answers to a story as the newest revision of the annotator's vote.

    The newest revision counts (if the first one did), and all revisions are kept. ``comment`` replaces the
    earlier one; None keeps it. If nothing changes, store nothing and return the vote as it is. ``revision``
    is the one that the annotator saw: a form that comes late never undoes a newer one.

    Raise :class:`NotTheirs`, :class:`CannotChange` with the reason, and ``IncompleteForm``.
    """
    locks.share_answers(enrollment.study_id)  # before anything is read: what is frozen is seen from here on
    enrollment = sql.lock_person(enrollment.pk)
    assignment = sql.lock_assignment(enrollment, assignment_id)
    newest = assignment.votes.order_by("-revision").first() if assignment else None
    if assignment is None or newest is None:
        raise NotTheirs(_("You have no answer here to change."))
    check_changeable(newest, enrollment, now=now)
    protocol = enrollment.study.protocol
    choices = protocol.read_form(protocol.parse(assignment.story.content), submitted)
    before = comment_of(newest)
    comment = before if comment is None else rules.words(comment)
    same_answers = set(choices) == {answer.choice for answer in newest.answers.all()}
    if same_answers and comment == before:
        return newest
    if revision not in (None, newest.revision):
        raise CannotChange(rules.NoChange.CHANGED_MEANWHILE)
    vote = store_vote(
        assignment=assignment,
        choices=choices,
        surplus=SurplusReason(newest.surplus_reason),
        language=language,
        submitted=submitted,
        now=now,
        instead_of=newest,
        comment=comment,
    )
    settle_slots(study=enrollment.study, stories=[assignment.story_id])
    return vote


def comment_of(vote: Vote) -> str:
    """Return the words that came with a vote, or ""."""
    return Comment.objects.filter(pk=vote.pk).values_list("words", flat=True).first() or ""


def check_changeable(vote: Vote, enrollment: Enrollment, *, now: datetime) -> None:
    """Raise :class:`CannotChange` with the reason if the vote can no longer be changed."""
    refusal = change_refusal(vote, enrollment, now=now)
    if refusal:
        raise CannotChange(refusal)


def change_refusal(vote: Vote, enrollment: Enrollment, *, now: datetime) -> rules.NoChange | None:
    """Return the reason why the vote can no longer be changed, or None. The enrollment carries its study."""
    study = enrollment.study
    return rules.change_refusal(
        enrollment_state=enrollment.state,
        first_submitted_at=vote.first_submitted_at,
        submitted_at=vote.submitted_at,
        frozen_at=study.answers_frozen_at,
        change_hours=study.change_hours,
        now=now,
    )


def credit(*, assignment: Assignment, counts: bool, skips: int, ended_at: datetime, now: datetime) -> None:
    """Credit a story to its annotator; if it ``counts`` as done, to the visit as well, which is saved.

    ``skips`` is the change in the number of their skips. Also note when they worked, and where they are in
    an order of their own, outside which hidden checks stand. The caller saves the enrollment.
    """
    person, session = assignment.enrollment, assignment.session
    person.stories_submitted += counts
    person.stories_skipped += skips
    if assignment.order_seed is not None and assignment.story.role == Story.Role.MAIN:
        person.order_key_reached = assignment.story.order_key
    person.working_since = working_time.working_since(
        person.working_since, person.last_submitted_at, assignment.served_at, ended_at
    )
    person.last_submitted_at = now
    if session and counts:
        session.stories_submitted += 1
        session.save(update_fields=["stories_submitted"])


def _complete(vote: Vote, *, now: datetime) -> None:
    """Update the assignment and the annotator's counts after a first vote.

    A story that was skipped within the allowance has been credited: a vote after all adds no pay.
    """
    assignment, session = vote.assignment, vote.assignment.session
    was_skipped = assignment.state == Assignment.State.SKIPPED
    counts = not (was_skipped and assignment.skip.credited)
    credit(assignment=assignment, counts=counts, skips=-was_skipped, ended_at=vote.submitted_at, now=now)
    if vote.surplus_reason:
        assignment.state = Assignment.State.SURPLUS
    elif session is None:
        assignment.state = Assignment.State.SUBMITTED
    else:
        assignment.state = rules.state_of_answer(session.state, counts_unconfirmed=session.counts_unconfirmed)
