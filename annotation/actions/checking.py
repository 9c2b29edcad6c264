"""Grading the answers to hidden checks, and what comes of them. Called with the person's row locked."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from django.utils.translation import gettext as _

from annotation import checks
from annotation.actions.enrollments import suspend
from annotation.actions.events import record_event
from annotation.checks import Consequence
from annotation.grading import Cell, grade
from annotation.models import CheckResult, Enrollment, Event, Story, Vote
from annotation.protocols.base import Choice
from annotation.sql import share_check_key


def graded(story: Story, vote: Vote, choices: Sequence[Choice]) -> CheckResult | None:
    """What the answers to a check are worth, not yet stored; None for any other story.

    The key cannot be replaced until the end of the transaction.
    """
    if story.role != Story.Role.CHECK:
        return None
    key_id, options = share_check_key(story)
    accepted: dict[Cell, set[str]] = {}
    for question, row, option in options:
        accepted.setdefault(Cell("", question, row), set()).add(option)
    outcome = grade({Cell("", choice.question, choice.row): choice.option for choice in choices}, accepted)
    return CheckResult(vote=vote, key_id=key_id, passed=outcome.passed)


def record_failure(*, result: CheckResult, story: Story, person: Enrollment, now: datetime) -> None:
    """Say in the log that a check was failed."""
    record_event(
        study=person.study,
        type=Event.Type.CHECK_FAILED,
        enrollment=person,
        now=now,
        subject=f"vote {result.vote.pk}",
        note=story.story_id,
    )


def draw_consequences(person: Enrollment, *, after: Story, now: datetime) -> None:
    """Warn or suspend somebody who has failed too many checks, at the end of a block of their stories.

    ``person`` carries its study and is changed with the row, and has just answered the story ``after``.
    Nothing comes of checks between the ends of blocks, so that nobody can tell which story was one. After
    the rules have changed, a check that was drawn by the old ones may end a block of the new ones: then it
    comes at the end of the next.
    """
    rules = person.study.check_rules
    ends = checks.consequences_are_due(submitted=person.stories_submitted, every=rules.every)
    due = ends and after.role != Story.Role.CHECK
    if not due or not rules.has_consequences or person.state != Enrollment.State.QUALIFIED:
        return
    answered, failed = CheckResult.objects.of_person(person).counts()
    what = checks.consequence(answered=answered, failed=failed, rules=rules)
    if what is Consequence.SUSPEND:
        note = checks.noted(answered=answered, failed=failed)
        suspended = suspend(enrollment=person, by=None, now=now, reason=_told(answered, failed), note=note)
        person.state = suspended.state
        person.suspension_reason = suspended.suspension_reason
    elif what is Consequence.WARN and person.warned_after is None:
        _warn(person, answered, failed, now=now)


def _warn(person: Enrollment, answered: int, failed: int, *, now: datetime) -> None:
    person.warned_after = person.stories_submitted
    person.save(update_fields=["warned_after"])
    record_event(
        study=person.study,
        type=Event.Type.ANNOTATOR_WARNED,
        enrollment=person,
        now=now,
        note=checks.noted(answered=answered, failed=failed),
    )


def _told(answered: int, failed: int) -> str:
    """The reason that the person reads, in their language."""
    return _(
        "Some stories here have known answers. Your answers to %(failed)s of the %(answered)s that you had "
        "were others, which is more than this study allows."
    ) % {"answered": answered, "failed": failed}
