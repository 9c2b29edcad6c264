"""Revise a story: a new version is judged in its place, and every vote stays with the version it is about."""

import re
from collections.abc import Mapping
from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from accounts.models import User, locked
from annotation import locks
from annotation.actions.events import record_event
from annotation.actions.story_files import LONGEST, store_batch
from annotation.errors import InvalidInput, WrongState
from annotation.importing.rows import Problem, SourceRow, StoryRow
from annotation.importing.validation import check_rows
from annotation.models import HELD, Event, Story, StoryRevision, Study
from annotation.protocols.base import Protocol
from annotation.reasons import LONGEST_STATEMENT, check_reason

_VERSION = re.compile(r"\.r(\d+)\Z")
_LONGEST_STEM = 90


@transaction.atomic
def revise_story(
    *, story: Story, texts: Mapping[str, str], reason: str, by: User | None, now: datetime
) -> Story:
    """Make a new version of a main story with other ``texts``, by key of its content. Return it.

    Nobody is given the old version from here on. Its votes stay and count as before, and whoever holds it
    may still answer it. A revision with the same texts as the story's last one returns the version that this
    made. Raise :class:`ReasonMissing`, :class:`WrongState` for a story that cannot be revised (also while a
    file is imported) or was revised otherwise, and :class:`InvalidInput` for texts that are unchanged or that
    no import would take.
    """
    reason = check_reason(reason, most=LONGEST_STATEMENT)
    study = locked(story.study)  # so that nobody closes it meanwhile
    story = locked(story)  # waits for a claim that is just handing it out
    check_revisable(story=story, study=study)
    row = _revised_row(story, study.protocol, texts)
    if story.is_old_version:
        if story.revised_to.after.text_hash == row.text_hash:
            return story.revised_to.after
        raise WrongState(_("This story has been revised already. Revise its newest version."))
    shown = {name: story.content[name] for name in study.protocol.revisable}
    if all(texts.get(name, was).split() == was.split() for name, was in shown.items()):
        raise InvalidInput(_("The new text is the same as the old one."))
    with locks.one_file(study.pk):  # else an import of the same text waits for the study, and we for it
        if Story.objects.filter(study=study, text_hash=row.text_hash).exists():
            raise InvalidInput(_("The study has a story with this text already."))
        store_batch(job=story.story_import, study=study, rows=[row], lint=study.protocol.lint)
    new = study.stories.get(story_id=row.story_id)
    record_revision(before=story, after=new, reason=reason, by=by, at=now, now=now)
    return new


def record_revision(
    *, before: Story, after: Story, reason: str, by: User | None, at: datetime, now: datetime
) -> StoryRevision:
    """Record that a story is the new version of another one, which nobody is given from here on."""
    Story.objects.filter(pk=before.pk).update(has_free_slot=False, is_old_version=True)
    made = StoryRevision.objects.create(before=before, after=after, reason=reason, by=by, at=at)
    note, subject = f"{before.story_id}: {reason}", after.story_id
    record_event(study=after.study, type=Event.Type.STORY_REVISED, by=by, now=now, subject=subject, note=note)
    return made


def check_revisable(*, story: Story, study: Study) -> None:
    """Raise :class:`WrongState` unless stories like this one may be revised now."""
    if story.role != Story.Role.MAIN or not study.protocol.revisable:
        raise WrongState(_("This story cannot be revised."))
    if study.state not in (Study.State.OPEN, Study.State.PAUSED):
        raise WrongState(_("Stories are revised while their study is open or paused."))
    if study.stratum_field:
        text = _(
            "This study has a design, in which everybody has a set of their own with the old version. "
            "Import the new text into a study without a design."
        )
        raise WrongState(text)
    if story.assignments.filter(given=True, state__in=HELD).exists():
        text = _(
            "This story is given to participants by name. Take it back; give them the new version later."
        )
        raise WrongState(text)


def _revised_row(story: Story, protocol: Protocol, texts: Mapping[str, str]) -> StoryRow:
    """Return the story with these texts and an id of its own, as an import file would have it."""
    row = protocol.source_row(story.as_row()) | {"story_id": _next_id(story), "core_id": story.core_id}
    row |= {name: text for name, text in texts.items() if name in protocol.revisable}
    found = next(protocol.read([SourceRow("", story.source_line, row)]))
    if isinstance(found, StoryRow):
        found = next(check_rows([found], longest=LONGEST, parse=protocol.parse))
    if isinstance(found, Problem):
        raise InvalidInput(f"{found.message} {found.remedy}")
    return found


def _next_id(story: Story) -> str:
    """Return an unused id for the next version: ``bench.r2`` for ``bench``, and ``bench.r3`` after that."""
    stem, version = _VERSION.sub("", story.story_id)[:_LONGEST_STEM], _VERSION.search(story.story_id)
    number = int(version[1]) + 1 if version else 2
    while Story.objects.filter(study=story.study_id, story_id=f"{stem}.r{number}").exists():
        number += 1
    return f"{stem}.r{number}"
