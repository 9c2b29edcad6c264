"""Answer keys: what is accepted in a round, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from accounts.models import User
from annotation import actions as annotation_actions
from annotation.actions.studies import lock
from annotation.grading import asked, key_problems
from annotation.models import Event, Study
from qualification.actions.rounds import (
    check_decided,
    check_has_test,
    lock_rounds,
    move_round,
    remember_readers,
)
from qualification.errors import InvalidKey, KeyChanged, KeyIsFrozen
from qualification.experts import chosen_in, counts
from qualification.models import AcceptableOption, AnswerKey, KeyReason, Round, RoundStory
from qualification.rules import LONGEST_REASON, needs_reason

AcceptableAnswers = Mapping[str, Mapping[str, Sequence[str]]]
"""Per story id, per form field (``q1``, or ``question.row``): the options that are accepted."""
Reasons = Mapping[str, Mapping[str, str]]
"""Per story id, per form field: why these options are accepted. Not every field needs one."""


@transaction.atomic
def set_answer_key(
    *,
    round: Round,
    acceptable: AcceptableAnswers,
    by: User | None,
    now: datetime,
    note: str = "",
    reasons: Reasons | None = None,
    beside: bool = False,
    after: int | None = None,
) -> AnswerKey:
    """Fix what is accepted in a round, as a new version of its key.

    A study that waits for its test has one from now on; one that asks for no test stays so. Who can read the
    key now is remembered: they are not asked as experts about its texts any more.

    With its first key a round becomes the one that newcomers take; with ``beside`` it is taken in turn
    with those that are active. ``after`` is the version that this one was made from (0: none).

    Raises :class:`InvalidKey` with everything that is missing or unknown, also the reasons that are missing
    where experts differ or something else is accepted than what they chose; :class:`KeyIsFrozen` once
    anybody has begun the round; :class:`ExpertsAtWork` before the experts' answers are laid open;
    :class:`KeyChanged` where ``after`` is not the newest version; and :class:`NoTestHere` for a study that
    takes people of another one.
    """
    study = lock(round.study)
    check_has_test(study)
    rounds = lock_rounds(round)
    round = rounds[round.pk]
    reasons = reasons or {}
    if round.attempts.exists():
        raise KeyIsFrozen(_("People have attempted this round, so its key stays. Make a new round instead."))
    check_decided(round)
    last = round.keys.order_by("version").values_list("version", flat=True).last() or 0
    if after is not None and after != last:
        raise KeyChanged(
            _("Meanwhile somebody has saved version %(version)s of the key. Look at it first.")
            % {"version": last}
        )
    round_stories = list(round.round_stories.select_related("story__study").order_by("position"))
    problems = [
        *_key_problems(round.study, round_stories, acceptable),
        *_reason_problems(round, round_stories, acceptable, reasons),
    ]
    if problems:
        raise InvalidKey(problems)
    key = AnswerKey.objects.create(round=round, version=last + 1, note=note, created_by=by, created_at=now)
    _store(key, round_stories, acceptable, reasons)
    remember_readers(round=round)
    annotation_actions.record_event(
        study=round.study,
        type=Event.Type.KEY_SET,
        by=by,
        now=now,
        subject=f"round {round.number} key {key.version}",
    )
    if round.state == Round.State.PREPARING:
        _give_to_newcomers(round, list(rounds.values()), beside=beside, by=by, now=now)
    if study.gate == Study.Gate.MISSING:
        annotation_actions.set_gate(study=study, gate=Study.Gate.READY, by=by, now=now)
    return key


def _store(
    key: AnswerKey, round_stories: list[RoundStory], acceptable: AcceptableAnswers, reasons: Reasons
) -> None:
    options, why = [], []
    for entry in round_stories:
        story_id = entry.story.story_id
        for question, row, name, _offered in asked(key.round.study.protocol, entry.story.item):
            cell = {"key": key, "round_story": entry, "question": question, "row": row}
            options += [
                AcceptableOption(**cell, option=option) for option in sorted(set(acceptable[story_id][name]))
            ]
            reason = reasons.get(story_id, {}).get(name, "").strip()
            if reason:
                why.append(KeyReason(**cell, reason=reason))
    AcceptableOption.objects.bulk_create(options)
    KeyReason.objects.bulk_create(why)


def _give_to_newcomers(
    round: Round, rounds: list[Round], *, beside: bool, by: User | None, now: datetime
) -> None:
    """The round is active from now on; the others are not any more unless it comes ``beside`` them."""
    move_round(round=round, state=Round.State.ACTIVE, by=by, now=now)
    for other in rounds:
        if not beside and other.pk != round.pk and other.state == Round.State.ACTIVE:
            move_round(round=other, state=Round.State.RETIRED, by=by, now=now)


def _key_problems(
    study: Study, round_stories: list[RoundStory], acceptable: AcceptableAnswers
) -> Iterator[str]:
    known = {entry.story.story_id for entry in round_stories}
    for story_id in sorted(acceptable.keys() - known):
        yield _("The key speaks of “%(story)s”, which is not a story of the round.") % {"story": story_id}
    for entry in round_stories:
        story_id, everything = entry.story.story_id, list(asked(study.protocol, entry.story.item))
        yield from key_problems(story_id, everything, acceptable.get(story_id, {}))


def _reason_problems(
    round: Round, round_stories: list[RoundStory], acceptable: AcceptableAnswers, reasons: Reasons
) -> Iterator[str]:
    chosen = _chosen(round)
    named = {
        (entry.story.story_id, cell.field)
        for entry in round_stories
        for cell in asked(round.study.protocol, entry.story.item)
    }
    for story_id, said in reasons.items():
        for name, reason in said.items():
            place = {"story": story_id, "field": name, "most": LONGEST_REASON}
            if (story_id, name) not in named:
                yield _("There is a reason for %(story)s, %(field)s, which is not asked.") % place
            if len(reason.strip()) > LONGEST_REASON:
                yield _("%(story)s, %(field)s: the reason is longer than %(most)s characters.") % place
    for story_id, name in sorted(named & chosen.keys()):
        accepted = acceptable.get(story_id, {}).get(name, ())
        said_why = reasons.get(story_id, {}).get(name, "").strip()
        if not said_why and needs_reason(accepted, chosen[story_id, name]):
            yield _(
                "%(story)s, %(field)s: the key needs a reason, since it is not just what all experts chose."
            ) % {"story": story_id, "field": name}


def _chosen(round: Round) -> dict[tuple[str, str], Counter[str]]:
    """Per story and form field, how many experts chose which option, as far as that is laid open."""
    story_ids = dict(round.round_stories.values_list("position", "story__story_id"))
    return {(story_ids[at], name): counts(cell) for (at, name), cell in chosen_in(round).items()}
