"""Answer keys: the accepted options of a round, with reasons."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from accounts.models import User
from accounts.rows import locked
from annotation import actions as annotation_actions
from annotation.grading import key_problems
from annotation.models import Event, Study
from qualification.actions.rounds import (
    check_decided,
    check_has_test,
    lock_rounds,
    move_round,
    remember_readers,
    retire_others,
)
from qualification.errors import InvalidKey, KeyChanged, KeyIsFrozen
from qualification.experts import chosen_in, counts
from qualification.models import AcceptableOption, AnswerKey, KeyReason, Round, RoundStory
from qualification.rules import LONGEST_REASON, needs_reason

AcceptableAnswers = Mapping[str, Mapping[str, Sequence[str]]]
"""Per story id, per form field (``q1``, or ``question.row``): the accepted options."""
Reasons = Mapping[str, Mapping[str, str]]
"""Per story id, per form field: the reason for accepting these options. Not every field needs one."""


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
    enough: int | None = None,
    must_pass: Collection[str] = (),
) -> AnswerKey:
    """Set the accepted options of a round, as a new version of its answer key.

    The first key of a study that waits for its test makes the test ready. Everybody who can read the key now
    is recorded and cannot be asked as an expert about its texts any more.

    With its first key, a round becomes the active one; with ``beside``, it alternates with the rounds that
    are active already. A study has one practice round at a time. ``after`` is the version that this one was
    made from (0: none).

    The pass mark is frozen with the key: ``enough`` acceptable answers (None: all, as published), among them
    all of those about the stories in ``must_pass``.

    Raise :class:`InvalidKey` with all missing or unknown entries, among them missing reasons where experts
    disagree or the key departs from their choice; :class:`KeyIsFrozen` once the round has attempts;
    :class:`ExpertsAtWork` before the experts' answers are revealed; :class:`KeyChanged` if ``after`` is not
    the newest version; and :class:`NoTestHere` for a study that relies on another study's test.
    """
    study = locked(round.study)
    check_has_test(study)
    rounds = lock_rounds(round)
    round = rounds[round.pk]
    reasons = reasons or {}
    if round.attempts.exists():
        raise KeyIsFrozen(
            _("Annotators have attempted this round, so its key can’t change. Create a new round instead.")
        )
    check_decided(round)
    last = round.keys.order_by("version").values_list("version", flat=True).last() or 0
    if after is not None and after != last:
        told = _("Version %(version)s of the key has been saved in the meantime. Look at it first.")
        raise KeyChanged(told, version=last)
    round_stories = list(round.round_stories.select_related("story__study").order_by("position"))
    problems = [
        *_key_problems(round_stories, acceptable),
        *_reason_problems(round, round_stories, acceptable, reasons),
        *_mark_problems(round_stories, enough, must_pass),
    ]
    if problems:
        raise InvalidKey(problems)
    key = AnswerKey.objects.create(
        round=round,
        version=last + 1,
        enough=enough,
        must_pass=[entry.position for entry in round_stories if entry.story.story_id in must_pass],
        note=note,
        created_by=by,
        created_at=now,
    )
    _store(key, round_stories, acceptable, reasons)
    remember_readers(round=round)
    subject = f"round {round.number} key {key.version}"
    annotation_actions.record_event(study=study, type=Event.Type.KEY_SET, by=by, now=now, subject=subject)
    if round.state == Round.State.PREPARING:
        if round.is_practice or not beside:
            retire_others(round, rounds.values(), by=by, now=now)
        move_round(round=round, state=Round.State.ACTIVE, by=by, now=now)
    if study.gate == Study.Gate.MISSING and not round.is_practice:
        annotation_actions.set_gate(study=study, gate=Study.Gate.READY, by=by, now=now)
    return key


def _store(
    key: AnswerKey, round_stories: list[RoundStory], acceptable: AcceptableAnswers, reasons: Reasons
) -> None:
    options, why = [], []
    for entry in round_stories:
        story_id = entry.story.story_id
        for cell in entry.story.cells:
            question, row = cell.key
            at = {"key": key, "round_story": entry, "question": question, "row": row}
            accepted = sorted(set(acceptable[story_id][cell.field]))
            options += [AcceptableOption(**at, option=option) for option in accepted]
            if reason := reasons.get(story_id, {}).get(cell.field, "").strip():
                why.append(KeyReason(**at, reason=reason))
    AcceptableOption.objects.bulk_create(options)
    KeyReason.objects.bulk_create(why)


def _key_problems(round_stories: list[RoundStory], acceptable: AcceptableAnswers) -> Iterator[str]:
    known = {entry.story.story_id for entry in round_stories}
    for story_id in sorted(acceptable.keys() - known):
        yield _("The key mentions “%(story)s”, which is not a story of the round.") % {"story": story_id}
    for entry in round_stories:
        story = entry.story
        yield from key_problems(story.story_id, story.cells, acceptable.get(story.story_id, {}))


def _mark_problems(
    round_stories: list[RoundStory], enough: int | None, must_pass: Collection[str]
) -> Iterator[str]:
    answers = sum(len(entry.story.cells) for entry in round_stories)
    if enough is not None and not 1 <= enough <= answers:
        yield _("The pass mark must be from 1 to %(n)s, the number of answers.") % {"n": answers}
    for story_id in sorted(set(must_pass) - {entry.story.story_id for entry in round_stories}):
        yield _("“%(story)s” must be passed, but is not a story of the round.") % {"story": story_id}


def _reason_problems(
    round: Round, round_stories: list[RoundStory], acceptable: AcceptableAnswers, reasons: Reasons
) -> Iterator[str]:
    chosen = _chosen(round)
    named = {(entry.story.story_id, cell.field) for entry in round_stories for cell in entry.story.cells}
    for story_id, said in reasons.items():
        for name, reason in said.items():
            place = {"story": story_id, "field": name, "most": LONGEST_REASON}
            if (story_id, name) not in named:
                yield _("%(story)s, %(field)s: there is a reason, but no such question.") % place
            if len(reason.strip()) > LONGEST_REASON:
                yield _("%(story)s, %(field)s: the reason is longer than %(most)s characters.") % place
    for story_id, name in sorted(named & chosen.keys()):
        accepted = acceptable.get(story_id, {}).get(name, ())
        said_why = reasons.get(story_id, {}).get(name, "").strip()
        if not said_why and needs_reason(accepted, chosen[story_id, name]):
            yield _(
                "%(story)s, %(field)s: give a reason, because the key differs from what all experts chose."
            ) % {"story": story_id, "field": name}


def _chosen(round: Round) -> dict[tuple[str, str], Counter[str]]:
    """Return, per story and form field, the number of experts per option, as far as revealed."""
    story_ids = dict(round.round_stories.values_list("position", "story__story_id"))
    return {(story_ids[at], name): counts(cell) for (at, name), cell in chosen_in(round).items()}
