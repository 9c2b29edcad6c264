"""Writing a vote down. Called with the person's enrollment and the assignment locked."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from annotation import rules, sql
from annotation.actions.checking import graded, record_failure
from annotation.models import Assignment, Event, SurplusReason, Vote
from annotation.protocols.base import Choice


def store_vote(
    *,
    assignment: Assignment,
    choices: Sequence[Choice],
    surplus: SurplusReason,
    language: str,
    now: datetime,
    instead_of: Vote | None = None,
) -> Vote:
    """A vote with its answers, context and event: the first one, or a later revision ``instead_of`` another.

    The first one settles the assignment, whose slot must be the one it keeps, and is credited to the
    person. The assignment must carry its story, and its enrollment with the study.
    """
    person = assignment.enrollment
    study = person.study
    protocol = study.protocol
    item = protocol.parse(assignment.story.content)
    # A clock that was set back must not lose an answer.
    submitted_at = max(now, instead_of.submitted_at if instead_of else assignment.served_at)
    vote = Vote(
        assignment=assignment,
        revision=instead_of.revision + 1 if instead_of else 1,
        protocol_version=study.protocol_version,
        language=language,
        story_hash=assignment.story.content_hash,
        order_position=assignment.order_position,
        served_at=assignment.served_at,
        first_submitted_at=instead_of.first_submitted_at if instead_of else submitted_at,
        submitted_at=submitted_at,
        environment=person.environment,
        surplus_reason=surplus,
    )
    event = Event(
        study=study,
        enrollment=person,
        type=Event.Type.VOTE_CHANGED if instead_of else Event.Type.VOTE_SUBMITTED,
        note=f"instead of vote {instead_of.pk}" if instead_of else surplus,
        at=now,
    )
    if not instead_of:
        _settle(vote, now=now)
    against = [protocol.counts_against(item, choice) for choice in choices]
    result = graded(assignment.story, vote, choices)
    sql.store_vote(vote, choices, against, event=event, settles=not instead_of, result=result)
    if result and not result.passed:
        record_failure(result=result, story=assignment.story, person=person, now=now)
    return vote


def _settle(vote: Vote, *, now: datetime) -> None:
    """What a first vote changes about its assignment and its author."""
    assignment, person = vote.assignment, vote.assignment.enrollment
    session = assignment.session
    if vote.surplus_reason:
        assignment.state = Assignment.State.SURPLUS
    elif session is None:
        assignment.state = Assignment.State.SUBMITTED
    else:
        assignment.state = rules.state_of_answer(session.state, counts_at_once=session.counts_at_once)
    person.stories_submitted += 1
    person.working_since = rules.working_since(
        person.working_since, person.last_submitted_at, vote.served_at, vote.submitted_at
    )
    person.last_submitted_at = now
