"""Revise a story: a new version is served in its place, and every vote stays with the version it is about."""

import re
from collections.abc import Mapping
from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from accounts.models import User, locked
from annotation import rules
from annotation.actions.designs import lock_in_order
from annotation.actions.enrollments import check_reason
from annotation.actions.events import record_event
from annotation.actions.reviews import LONGEST_STATEMENT
from annotation.errors import InvalidInput, WrongState
from annotation.importing.rows import IMPORTED, Problem
from annotation.models import Event, LintFinding, Story, StoryRevision, Study, Vote

_VERSION = re.compile(r"\.r(\d+)\Z")
_LONGEST_ID = 90


@transaction.atomic
def revise_story(
    *, story: Story, texts: Mapping[str, str], reason: str, by: User | None, now: datetime
) -> Story:
    """Replace a main story by a new version with other ``texts``, by column of import files. Return it.

    The old version is served to nobody from here on, for good; whoever holds it gets another story when they
    come back, and an answer that they still send is stored and credited. Raise :class:`ReasonMissing`,
    :class:`WrongState` for a closed study, a story without texts to revise, one that was revised already or
    has votes in a release, and :class:`InvalidInput` for texts that are unchanged or do not fit.
    """
    told = _("Give a reason of 1 to %(most)s characters.")
    reason = check_reason(reason, most=LONGEST_STATEMENT, message=told)
    study = locked(story.study)  # so that answers are not frozen meanwhile
    lock_in_order(study.strata.all())  # so that nobody reserves it meanwhile
    story = locked(story)
    _check_revisable(story, study)
    made = study.protocol.revised(story.as_row(), texts, _next_id(story))
    if isinstance(made, Problem):
        raise InvalidInput(f"{made.message} {made.remedy}")
    if made.text_hash == story.text_hash:
        raise InvalidInput(_("The new text is the same as the old one."))
    if Story.objects.filter(study=study, text_hash=made.text_hash).exists():
        raise InvalidInput(_("The study has a story with this text already."))
    new = Story.objects.create(
        study=study,
        **{name: getattr(made, name) for name in IMPORTED},
        content_hash=made.content_hash,
        text_hash=made.text_hash,
        story_import_id=story.story_import_id,
        source_line=story.source_line,
        order_key=rules.order_key(study.serving_seed, made.story_id),
        has_free_slot=True,
    )
    LintFinding.objects.bulk_create(
        LintFinding(story=new, code=found.code, field=found.field, message=found.message)
        for found in study.protocol.lint(made)
    )
    Story.objects.filter(pk=story.pk).update(role=Story.Role.REVISED, has_free_slot=False)
    StoryRevision.objects.create(before=story, after=new, reason=reason, by=by, at=now)
    note = f"{story.story_id}: {reason}"
    record_event(study=study, type=Event.Type.STORY_REVISED, by=by, now=now, subject=new.story_id, note=note)
    return new


def _check_revisable(story: Story, study: Study) -> None:
    """Raise :class:`WrongState` unless the story, which is locked, may be revised now."""
    if not study.protocol.revisable:
        raise WrongState(_("The stories of this study cannot be revised."))
    if study.state == Study.State.CLOSED:
        raise WrongState(_("The study is closed. Reopen it to revise its stories."))
    if story.role == Story.Role.REVISED:
        raise WrongState(_("This story has been revised already. Revise its newest version."))
    if story.role != Story.Role.MAIN:
        raise WrongState(_("Only main stories can be revised."))
    fixed = study.answers_frozen_at
    if fixed and Vote.objects.filter(assignment__story=story, submitted_at__lte=fixed).exists():
        raise WrongState(_("This story is in a release with its votes, so it stays as it is."))


def _next_id(story: Story) -> str:
    """Return an id for the next version: ``bench.r2`` for ``bench``, and ``bench.r3`` after that."""
    begin, found = _VERSION.sub("", story.story_id)[:_LONGEST_ID], _VERSION.search(story.story_id)
    number = int(found[1]) + 1 if found else 2
    while Story.objects.filter(study=story.study_id, story_id=f"{begin}.r{number}").exists():
        number += 1
    return f"{begin}.r{number}"
