"""Changing an answer after it was saved: a new revision that counts, beside the old one that stays."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from annotation import locks, rules
from annotation.actions.votes import store_vote
from annotation.errors import CannotChange, NotTheirs
from annotation.models import Enrollment, SurplusReason, Vote
from annotation.protocols.base import Choice
from annotation.sql import lock_assignment, lock_person


@transaction.atomic
def change_vote(
    *,
    assignment_id: int,
    enrollment: Enrollment,
    submitted: Mapping[str, str],
    now: datetime,
    language: str = "en",
) -> Vote:
    """Store changed answers to a story as the newest revision of the person's vote.

    The newest revision counts (if the first one did), and the trail is kept. Sending answers that
    change nothing stores nothing and returns the vote as it is.

    Raises :class:`NotTheirs`, :class:`CannotChange` with the reason, and ``IncompleteForm``.
    """
    locks.share_answers(enrollment.study_id)  # before anything is read: what is frozen is seen from here on
    enrollment = lock_person(enrollment.pk)
    assignment = lock_assignment(enrollment, assignment_id)
    newest = assignment.votes.order_by("-revision").first() if assignment else None
    if assignment is None or newest is None:
        raise NotTheirs(_("There is no answer of yours here to change."))
    check_changeable(newest, enrollment, now=now)
    protocol = enrollment.study.protocol
    choices = protocol.read_form(protocol.parse(assignment.story.content), submitted)
    if set(choices) == {Choice(a.question, a.row, a.option) for a in newest.answers.all()}:
        return newest
    return store_vote(
        assignment=assignment,
        choices=choices,
        surplus=SurplusReason(newest.surplus_reason),
        language=language,
        now=now,
        instead_of=newest,
    )


def check_changeable(vote: Vote, enrollment: Enrollment, *, now: datetime) -> None:
    """Raises :class:`CannotChange` with the reason when the vote cannot be changed any more."""
    refusal = changing(vote, enrollment, now=now)
    if refusal:
        raise CannotChange(refusal)


def changing(vote: Vote, enrollment: Enrollment, *, now: datetime) -> rules.NoChange | None:
    """Why this vote cannot be changed any more, or None. The enrollment must carry its study."""
    study = enrollment.study
    return rules.may_change(
        enrollment_state=enrollment.state,
        first_submitted_at=vote.first_submitted_at,
        submitted_at=vote.submitted_at,
        frozen_at=study.answers_frozen_at,
        change_hours=study.change_hours,
        now=now,
    )
