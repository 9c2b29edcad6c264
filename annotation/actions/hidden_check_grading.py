"""Grade answers to hidden checks, and warn or suspend. Callers hold the enrollment's lock."""

from collections.abc import Sequence
from datetime import datetime

from django.utils.translation import gettext as _

from annotation import hidden_checks
from annotation.actions.enrollments import suspend
from annotation.actions.events import record_about
from annotation.grading import Cell, grade
from annotation.hidden_checks import Consequence
from annotation.models import CheckResult, Enrollment, Event, Story, Vote
from annotation.protocols.base import Choice
from annotation.sql import share_check_key


def graded(story: Story, vote: Vote, choices: Sequence[Choice]) -> CheckResult | None:
    """Grade the answers to a check; return the result unsaved, or None for any other story.

    Locks the key, so that it cannot be replaced until the transaction ends.
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
    """Record a failed check in the log."""
    subject, note = f"vote {result.vote.pk}", story.story_id
    record_about(person=person, type=Event.Type.CHECK_FAILED, now=now, subject=subject, note=note)


def draw_consequences(*, person: Enrollment, after: Story, now: datetime) -> None:
    """Warn or suspend an annotator who failed too many checks, at the end of a block of their stories.

    ``person`` carries its study, is updated in place, and has just answered the story ``after``. Checks
    have consequences only at the ends of blocks, so that nobody can tell which story was one. If the rules
    changed, a check drawn by the old ones may end a block of the new ones: then the consequences come at
    the end of the next block.
    """
    rules = person.study.check_rules
    ends = hidden_checks.consequences_are_due(submitted=person.stories_submitted, every=rules.every)
    due = ends and after.role != Story.Role.CHECK
    if not due or not rules.has_consequences or person.state != Enrollment.State.QUALIFIED:
        return
    answered, failed = CheckResult.objects.of_person(person).counts()
    what = hidden_checks.consequence(answered=answered, failed=failed, rules=rules)
    note = hidden_checks.noted(answered=answered, failed=failed)
    if what is Consequence.SUSPEND:
        told = _(  # in their language
            "Some stories have known answers. You differed on %(failed)s of %(answered)s, which is "
            "more than this study allows."
        ) % {"answered": answered, "failed": failed}
        suspended = suspend(enrollment=person, by=None, now=now, reason=told, note=note)
        person.state = suspended.state
        person.suspension_reason = suspended.suspension_reason
    elif what is Consequence.WARN and person.warned_after is None:
        person.warned_after = person.stories_submitted
        person.save(update_fields=["warned_after"])
        record_about(person=person, type=Event.Type.ANNOTATOR_WARNED, now=now, note=note)
