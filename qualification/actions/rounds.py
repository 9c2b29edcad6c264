"""Rounds: made of stories, taken in turn while they are active, and retired."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from django.db import transaction
from django.db.models import Max
from django.utils.translation import gettext as _

from accounts.models import User
from annotation import actions as annotation_actions
from annotation.actions.studies import lock
from annotation.models import Event, Story, Study
from qualification.errors import ExpertsAtWork, InvalidRound, LastActiveRound, NoTestHere
from qualification.experts import why_undecided
from qualification.knowing import readers_in
from qualification.models import KeyReader, Round, RoundStory
from qualification.queries import why_no_test


@transaction.atomic
def create_round(
    *,
    study: Study,
    story_ids: Sequence[str],
    by: User | None,
    now: datetime,
    title: str = "",
    attempts_allowed: int = 1,
    pays_on_fail: bool = True,
) -> Round:
    """A round of these stories, in this order. It can be attempted once it has an answer key.

    Raises :class:`InvalidRound` for no stories, a story twice, or one that is not a qualification
    story of the study; and :class:`NoTestHere` for a study that takes people of another one.
    """
    check_has_test(lock(study))
    stories = {
        story.story_id: story
        for story in Story.objects.filter(study=study, role=Story.Role.QUALIFICATION, story_id__in=story_ids)
    }
    unknown = [story_id for story_id in story_ids if story_id not in stories]
    if unknown:
        raise InvalidRound(
            _(
                "Not qualification stories of “%(study)s”: %(stories)s. Import them first, with the role "
                "qualification."
            )
            % {"study": study.slug, "stories": ", ".join(unknown)}
        )
    if not story_ids or len(set(story_ids)) != len(story_ids):
        raise InvalidRound(_("A round needs at least one story, and each story once."))
    last = Round.objects.filter(study=study).aggregate(last=Max("number"))["last"] or 0
    made = Round.objects.create(
        study=study,
        number=last + 1,
        title=title,
        attempts_allowed=attempts_allowed,
        pays_on_fail=pays_on_fail,
        created_at=now,
    )
    RoundStory.objects.bulk_create(
        RoundStory(round=made, story=stories[story_id], position=position)
        for position, story_id in enumerate(story_ids, start=1)
    )
    annotation_actions.record_event(
        study=study, type=Event.Type.ROUND_CREATED, by=by, now=now, subject=f"round {made.number}"
    )
    return made


@transaction.atomic
def activate_round(*, round: Round, by: User | None, now: datetime) -> Round:
    """Let newcomers take a retired round again, in turn with those that are active.

    Raises :class:`InvalidRound` for a round without a key, and :class:`ExpertsAtWork` for one that experts
    are asked about: their key would be frozen by the first attempt. One that is active stays as it is.
    """
    round = lock_rounds(round)[round.pk]
    if round.state == Round.State.PREPARING:
        raise InvalidRound(_("The round has no answer key yet, so nobody can take it."))
    check_decided(round)
    return move_round(round=round, state=Round.State.ACTIVE, by=by, now=now)


@transaction.atomic
def retire_round(*, round: Round, by: User | None, now: datetime) -> Round:
    """Give the round to no newcomer any more. Who is in the middle of it finishes it.

    Raises :class:`LastActiveRound` for the only one that newcomers can take, and :class:`InvalidRound`
    for one that they never could.
    """
    rounds = lock_rounds(round)
    round = rounds[round.pk]
    if round.state == Round.State.PREPARING:
        raise InvalidRound(_("The round has no answer key yet, so nobody takes it."))
    others = [one for one in rounds.values() if one != round and one.state == Round.State.ACTIVE]
    if round.state == Round.State.ACTIVE and not others:
        raise LastActiveRound(
            _("This is the only active round; without it there is no test. Activate another one first.")
        )
    return move_round(round=round, state=Round.State.RETIRED, by=by, now=now)


def check_has_test(study: Study) -> None:
    """Raises :class:`NoTestHere` for a study that takes people who are qualified in another one."""
    if why_not := why_no_test(study):
        raise NoTestHere(why_not)


def check_decided(round: Round) -> None:
    """Raises :class:`ExpertsAtWork` for a round whose experts' answers are not laid open."""
    if why_not := why_undecided(round):
        raise ExpertsAtWork(why_not)


@transaction.atomic
def remember_readers(*, round: Round) -> None:
    """Keep who can read the round's key, or its laid-open answers, as it is made."""
    readers = readers_in([round.study_id])
    KeyReader.objects.bulk_create(
        (KeyReader(round=round, reader=reader) for reader in readers), ignore_conflicts=True
    )


def lock_rounds(round: Round) -> dict[int, Round]:
    """All rounds of this one's study, as :func:`lock_rounds_of` gives them."""
    return lock_rounds_of(round.study)


def lock_rounds_of(study: Study) -> dict[int, Round]:
    """All rounds of the study by id and in order, as they are now, held until the end of the transaction."""
    held = Round.objects.select_for_update(of=("self",), no_key=True).select_related("study")
    return {one.pk: one for one in held.filter(study=study).order_by("number")}


@transaction.atomic
def move_round(*, round: Round, state: Round.State, by: User | None, now: datetime) -> Round:
    """Bring a locked round into a state, with its event; nothing where it is in it."""
    if round.state != state:
        round.state = state
        round.save(update_fields=["state"])
        annotation_actions.record_event(
            study=round.study,
            type=Event.Type.ROUND_CHANGED,
            by=by,
            now=now,
            subject=f"round {round.number}",
            note=state,
        )
    return round
