"""What a study's researchers decide about its hidden checks: how many, what is accepted, what comes of it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from accounts.models import User
from annotation import checks
from annotation.actions.events import record_event
from annotation.actions.exclusions import check_reason
from annotation.actions.studies import lock
from annotation.errors import (
    CheckKeyChanged,
    CheckKeyIsFinal,
    InvalidCheckKey,
    InvalidCheckKeys,
    InvalidStudy,
    WrongState,
)
from annotation.grading import asked, key_problems
from annotation.models import CheckKey, CheckOption, Event, Story, Study
from annotation.settled import noted


@transaction.atomic
def change_check_rules(*, study: Study, rules: checks.CheckRules, by: User | None, now: datetime) -> Study:
    """Decide how often people meet a check, and what share of failed ones has consequences.

    It holds for everybody from the next story that they are given. Their blocks are counted anew from their
    first story; what comes of checks still comes at the end of a block, and never directly after a check.
    Raises :class:`InvalidStudy` with what is wrong by field.
    """
    problems = checks.problems(rules)
    if problems:
        raise InvalidStudy(problems=problems)
    study = lock(study)
    before, after = asdict(study.check_rules), asdict(rules)
    changed = [name for name in after if after[name] != before[name]]
    if not changed:
        return study
    for name in changed:
        setattr(study, f"check_{name}", after[name])
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
    """Fix the options that are accepted about a check, by form field (``q1``, or ``question.row``).

    From then on it is given to people. Another key replaces the first as long as nobody has answered.
    ``after`` is the version that was looked at before (0: none); None replaces whatever there is.
    Raises :class:`WrongState` for a story that is no check, :class:`InvalidCheckKey` with everything that
    is missing or unknown, or where people meet the same text as another story, :class:`CheckKeyIsFinal`,
    and :class:`CheckKeyChanged`.
    """
    story, standing = _lock_check(story)
    everything = list(asked(story.study.protocol, story.item))
    problems = [*key_problems(story.story_id, everything, accepted), *_given_away_by(story)]
    if problems:
        raise InvalidCheckKey(problems)
    if standing and standing.results.exists():
        raise CheckKeyIsFinal(
            _(
                "People have been judged by these options, so they stay. If they are wrong, leave this check "
                "out, and import the story once more under another id."
            )
        )
    if after is not None and after != (standing.version if standing else 0):
        raise CheckKeyChanged(
            _(
                "Somebody has changed what this check accepts since you opened the page. Its own page shows "
                "theirs; what you save now replaces it."
            )
        )
    if standing:
        standing.state = CheckKey.State.REPLACED
        standing.save(update_fields=["state"])
    key = CheckKey.objects.create(
        story=story, version=story.check_keys.count() + 1, created_by=by, created_at=now
    )
    CheckOption.objects.bulk_create(
        CheckOption(key=key, question=cell.question, row=cell.row, option=option)
        for cell in everything
        for option in sorted(set(accepted[cell.field]))
    )
    # Which options, is for those who may see keys; more people read the log.
    _record(story.study, by=by, now=now, subject=story.story_id, note=f"key {key.version}")
    return key


@dataclass(frozen=True, slots=True)
class ProposedKey:
    """What a check should accept, by form field, in the place of version ``after`` of its key (0: none)."""

    story: Story
    accepted: Mapping[str, Collection[str]]
    after: int


@transaction.atomic
def set_check_keys(*, proposed: Collection[ProposedKey], by: User | None, now: datetime) -> list[CheckKey]:
    """The same for several checks at once: for all of them or, with :class:`InvalidCheckKeys`, for none."""
    made, problems = [], {}
    for one in sorted(proposed, key=lambda one: one.story.pk):  # the order in which everybody locks them
        try:
            key = set_check_key(story=one.story, accepted=one.accepted, after=one.after, by=by, now=now)
            made.append(key)
        except (CheckKeyChanged, CheckKeyIsFinal, InvalidCheckKey, WrongState) as error:
            problems[one.story.pk] = str(error)
    if problems:
        raise InvalidCheckKeys(problems)
    return made


@transaction.atomic
def leave_out_check(*, story: Story, reason: str, by: User | None, now: datetime) -> CheckKey:
    """Give this check to nobody any more, and hold its results against nobody; they stay stored.

    Raises :class:`ReasonMissing`, and :class:`WrongState` for one that is not in use.
    """
    reason = check_reason(reason)
    return _move(story, CheckKey.State.IN_USE, CheckKey.State.LEFT_OUT, reason, by=by, now=now)


@transaction.atomic
def take_in_check(*, story: Story, by: User | None, now: datetime) -> CheckKey:
    """Use a check again that was left out. Raises :class:`WrongState` for one that was not."""
    return _move(story, CheckKey.State.LEFT_OUT, CheckKey.State.IN_USE, "", by=by, now=now)


def _move(
    story: Story,
    source: CheckKey.State,
    target: CheckKey.State,
    reason: str,
    *,
    by: User | None,
    now: datetime,
) -> CheckKey:
    story, key = _lock_check(story)
    if key is None or key.state != source:
        raise WrongState(_("This check is not “%(state)s” any more. Look again.") % {"state": source.label})
    key.state = target
    key.save(update_fields=["state"])
    _record(story.study, by=by, now=now, subject=story.story_id, note=f"{target}. {reason}".strip(". "))
    return key


def _lock_check(story: Story) -> tuple[Story, CheckKey | None]:
    """The story, locked, and the key that stands, locked: nobody is graded by it until the end.

    Raises :class:`WrongState` for a story that is no check.
    """
    story = (
        Story.objects.select_for_update(of=("self",), no_key=True).select_related("study").get(pk=story.pk)
    )
    if story.role != Story.Role.CHECK:
        raise WrongState(_("Only stories that were imported as hidden checks have known answers."))
    standing = CheckKey.objects.exclude(state=CheckKey.State.REPLACED).filter(story=story)
    return story, standing.select_for_update(no_key=True).first()


def _given_away_by(story: Story) -> Iterator[str]:
    """The stories of the study with the text of this check that are none; files that have them are refused,
    unless two come in at once.
    """
    same = Story.objects.filter(study=story.study_id, text_hash=story.text_hash)
    for other in same.exclude(role=Story.Role.CHECK).values_list("story_id", flat=True)[:1]:
        yield _(
            "The study has this text as “%(story)s” too. Who met it twice would know which story is a check."
        ) % {"story": other}


def _record(study: Study, *, by: User | None, now: datetime, subject: str = "", note: str = "") -> None:
    record_event(study=study, type=Event.Type.CHECKS_CHANGED, by=by, now=now, subject=subject, note=note)
