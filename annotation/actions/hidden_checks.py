"""Configure hidden checks and their keys; grade the answers to them, and warn or suspend."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from accounts.models import User, locked
from annotation import hidden_checks
from annotation.actions.enrollments import suspend
from annotation.actions.events import record_about, record_event
from annotation.errors import ChangedMeanwhile, InvalidCheckKeys, InvalidKey, InvalidStudy, WrongState
from annotation.fixed_settings import noted
from annotation.grading import Cell, grade, key_problems
from annotation.hidden_checks import Consequence
from annotation.models import CheckKey, CheckOption, CheckResult, Enrollment, Event, Story, Study, Vote
from annotation.protocols.questions import Choice
from annotation.reasons import check_reason
from annotation.sql import share_check_key
from annotation.strata import limit_problem

State = CheckKey.State


@transaction.atomic
def change_check_rules(
    *, study: Study, rules: hidden_checks.CheckRules, by: User | None, now: datetime
) -> Study:
    """Set how often annotators get a check, and which share of failures has consequences.

    The rules hold from the next assigned story on. Blocks are counted anew from each annotator's first
    story; consequences still come at the end of a block, and never directly after a check.
    Raise :class:`InvalidStudy` with the problems by field.
    """
    problems = hidden_checks.problems(rules)
    if problems:
        raise InvalidStudy(problems=problems)
    study = locked(study)
    before, after = asdict(study.check_rules), asdict(rules)
    changed = [name for name in after if after[name] != before[name]]
    if not changed:
        return study
    for name in changed:
        setattr(study, f"check_{name}", after[name])
    if problem := limit_problem(study, study.story_cap):
        raise InvalidStudy(problems={"every": problem})
    study.save(update_fields=[f"check_{name}" for name in changed])
    _record(study, by=by, now=now, note=noted(before, after, changed))
    return study


@transaction.atomic
def set_check_key(
    *,
    story: Story,
    accepted: Mapping[str, Collection[str]],
    after: int | None = None,
    by: User | None,
    now: datetime,
) -> CheckKey:
    """Set the accepted options of a check by form field (``q1``, or ``question.row``), and put it in use.

    The key can be replaced until somebody has answered the check. ``after`` is the version that the caller
    saw (0: none); None replaces any version. Raise :class:`WrongState` for a story that is no check or whose
    key has graded answers, :class:`InvalidKey` for missing or unknown options, or where another story has
    the same text, and :class:`ChangedMeanwhile`.
    """
    story, standing = _lock_check(story)
    problems = [*key_problems(story.story_id, story.cells, accepted), *_giveaways(story, accepted)]
    if problems:
        raise InvalidKey(problems)
    if standing and standing.results.exists():
        text = _(
            "These answers have already been used to check participants, so they can’t change. If "
            "they are wrong, leave this check out and import the story again under another id."
        )
        raise WrongState(text)
    if after is not None and after != (standing.version if standing else 0):
        text = _(
            "Somebody else changed this check’s answers after you opened the page. The check’s page "
            "shows their version. Saving again replaces it."
        )
        raise ChangedMeanwhile(text)
    if standing:
        standing.state = CheckKey.State.REPLACED
        standing.save(update_fields=["state"])
    key = CheckKey.objects.create(
        story=story, version=story.check_keys.count() + 1, created_by=by, created_at=now
    )
    CheckOption.objects.bulk_create(
        CheckOption(key=key, question=cell.question.key, row=cell.row.key, option=option)
        for cell in story.cells
        for option in sorted(set(accepted[cell.field]))
    )
    # The options are secret; more people may read the log than the keys.
    _record(story.study, by=by, now=now, subject=story.story_id, note=f"key {key.version}")
    return key


@dataclass(frozen=True, slots=True)
class ProposedKey:
    """Accepted options for a check, by form field, to replace version ``after`` of its key (0: none)."""

    story: Story
    accepted: Mapping[str, Collection[str]]
    after: int


@transaction.atomic
def set_check_keys(*, proposed: Collection[ProposedKey], by: User | None, now: datetime) -> list[CheckKey]:
    """Set the keys of several checks: all of them, or none and raise :class:`InvalidCheckKeys`."""
    made, problems = [], {}
    for one in sorted(proposed, key=lambda one: one.story.pk):  # the common lock order
        try:
            key = set_check_key(story=one.story, accepted=one.accepted, after=one.after, by=by, now=now)
            made.append(key)
        except (ChangedMeanwhile, WrongState, InvalidKey) as error:
            problems[one.story.pk] = str(error)
    if problems:
        raise InvalidCheckKeys(problems)
    return made


@transaction.atomic
def leave_out_check(*, story: Story, reason: str, by: User | None, now: datetime) -> CheckKey:
    """Stop using this check. Its results stay stored and count against nobody.

    Raise :class:`ReasonMissing`, and :class:`WrongState` for a check that is not in use.
    """
    reason = check_reason(reason)
    return _move(story, State.IN_USE, State.LEFT_OUT, reason, by=by, now=now)


@transaction.atomic
def reuse_check(*, story: Story, by: User | None, now: datetime) -> CheckKey:
    """Use a check again that was left out. Raise :class:`WrongState` if it was not left out."""
    return _move(story, State.LEFT_OUT, State.IN_USE, "", by=by, now=now)


def _move(
    story: Story, source: State, target: State, reason: str, *, by: User | None, now: datetime
) -> CheckKey:
    story, key = _lock_check(story)
    if key is None or key.state != source:
        raise WrongState(_("This check is no longer “%(state)s”. Reload the page."), state=source.label)
    key.state = target
    key.save(update_fields=["state"])
    _record(story.study, by=by, now=now, subject=story.story_id, note=f"{target}. {reason}".strip(". "))
    return key


def _lock_check(story: Story) -> tuple[Story, CheckKey | None]:
    """Lock the story and its current key, so that nobody is graded meanwhile. Return both.

    Raise :class:`WrongState` for a story that is no check.
    """
    story = locked(story, "study")
    if story.role != Story.Role.CHECK:
        raise WrongState(_("Only stories that were imported as hidden checks have known answers."))
    standing = CheckKey.objects.exclude(state=CheckKey.State.REPLACED).filter(story=story)
    return story, standing.select_for_update(no_key=True).first()


def _giveaways(story: Story, accepted: Mapping[str, Collection[str]]) -> Iterator[str]:
    """Yield a problem if another story has the same text and is no check, or if all suggestions are right.

    Imports refuse a text that is there twice, unless two files are imported at once.
    """
    suggested = story.protocol.suggested(story.item)
    if all(suggested.get(cell.field) in accepted.get(cell.field, ()) for cell in story.cells):
        yield _(
            "A participant who keeps every suggestion would pass this check. A check needs a wrong "
            "suggestion for at least one label."
        )
    same = Story.objects.filter(study=story.study_id, text_hash=story.text_hash)
    for other in same.exclude(role=Story.Role.CHECK).values_list("story_id", flat=True)[:1]:
        yield _(
            "The study also has this text as “%(story)s”. Anybody who saw it twice would know which "
            "story is a check."
        ) % {"story": other}


def _record(study: Study, *, by: User | None, now: datetime, subject: str = "", note: str = "") -> None:
    record_event(study=study, type=Event.Type.CHECKS_CHANGED, by=by, now=now, subject=subject, note=note)


def graded(story: Story, vote: Vote, choices: Sequence[Choice]) -> CheckResult | None:
    """Grade the answers to a check; return the result unsaved, or None for any other story.

    Locks the key, so that it cannot be replaced until the transaction ends. Callers hold the enrollment's
    lock.
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
    the end of the next block. Callers hold the enrollment's lock.
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
        text = _(  # in their language
            "Some stories have known answers. You differed on %(failed)s of %(answered)s, which is "
            "more than this study allows."
        ) % {"answered": answered, "failed": failed}
        suspended = suspend(enrollment=person, by=None, now=now, reason=text, note=note)
        person.state = suspended.state
        person.suspension_reason = suspended.suspension_reason
    elif what is Consequence.WARN and person.warned_after is None:
        person.warned_after = person.stories_submitted
        person.save(update_fields=["warned_after"])
        record_about(person=person, type=Event.Type.ANNOTATOR_WARNED, now=now, note=note)
