"""Rounds of stories: create, activate, retire."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from django.db import transaction
from django.db.models import Max, Q
from django.utils.translation import gettext as _

from accounts.models import User
from accounts.rows import locked
from annotation import actions as annotation_actions
from annotation.models import Event, Story, Study
from qualification.errors import ExpertsAtWork, InvalidRound, LastActiveRound, NoTestHere
from qualification.experts import why_undecided
from qualification.key_readers import readers_in
from qualification.models import KeyReader, Round, RoundStory
from qualification.queries import why_no_test


@transaction.atomic
def create_round(
    *,
    study: Study,
    story_ids: Sequence[str],
    by: User | None,
    now: datetime,
    kind: Round.Kind = Round.Kind.TEST,
    title: str = "",
    attempts_allowed: int = 1,
    pays_on_fail: bool = True,
) -> Round:
    """Create a round of these stories, in this order. It can be attempted once it has an answer key.

    Raise :class:`InvalidRound` for no stories, a repeated story, one that is not a qualification story of
    the study, or one whose answers practice would give away; and :class:`NoTestHere` for a study that relies
    on another study's test.
    """
    check_has_test(locked(study))
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
            ),
            study=study.slug,
            stories=", ".join(unknown),
        )
    if not story_ids or len(set(story_ids)) != len(story_ids):
        raise InvalidRound(_("A round needs at least one story, and each story once."))
    _check_kept_apart(study, [stories[story_id] for story_id in story_ids], kind)
    last = Round.objects.filter(study=study).aggregate(last=Max("number"))["last"] or 0
    made = Round.objects.create(
        study=study,
        number=last + 1,
        kind=kind,
        title=title,
        attempts_allowed=attempts_allowed,
        pays_on_fail=pays_on_fail,
        created_at=now,
    )
    RoundStory.objects.bulk_create(
        RoundStory(round=made, story=stories[story_id], position=position)
        for position, story_id in enumerate(story_ids, start=1)
    )
    record_about_round(round=made, type=Event.Type.ROUND_CREATED, by=by, now=now)
    return made


def record_about_round(
    *,
    round: Round,
    type: Event.Type,
    by: User | None,
    now: datetime,
    note: str = "",
    member: User | None = None,
) -> None:
    """Record an event of the round in its study's log."""
    subject = f"round {round.number}"
    annotation_actions.record_event(
        study=round.study, type=type, by=by, now=now, member=member, subject=subject, note=note
    )


def _check_kept_apart(study: Study, stories: Sequence[Story], kind: str) -> None:
    """Raise :class:`InvalidRound` for stories whose texts would be practised and asked in earnest as well."""
    used, test = RoundStory.objects.filter(round__study=study), Q(round__kind=Round.Kind.TEST)
    is_test = kind == Round.Kind.TEST
    earnest = Q(pk__in=used.filter(~test if is_test else test).values("story"))
    earnest |= Q() if is_test else ~Q(role=Story.Role.QUALIFICATION)
    found = Story.objects.filter(earnest, study=study, text_hash__in=[story.text_hash for story in stories])
    elsewhere = set(found.values_list("text_hash", flat=True))
    if secret := [story.story_id for story in stories if story.text_hash in elsewhere]:
        raise InvalidRound(
            _(
                "Practice shows the right answers, so its stories can’t be in the test, be voted on or be "
                "hidden checks: %(stories)s."
            ),
            stories=", ".join(secret),
        )


@transaction.atomic
def activate_round(*, round: Round, by: User | None, now: datetime) -> Round:
    """Activate a retired round again, alternating with other active rounds; practice replaces practice.

    Raise :class:`InvalidRound` for a round without a key or practice of a text that is voted on, and
    :class:`ExpertsAtWork` while experts are answering: the first attempt would freeze the key. An active
    round is returned unchanged.
    """
    rounds = lock_rounds(round)
    round = rounds[round.pk]
    if round.state == Round.State.PREPARING:
        raise InvalidRound(_("The round has no answer key yet, so nobody can take it."))
    check_decided(round)
    if round.is_practice:
        retire_others(round, rounds.values(), by=by, now=now)
    return move_round(round=round, state=Round.State.ACTIVE, by=by, now=now)


@transaction.atomic
def retire_round(*, round: Round, by: User | None, now: datetime) -> Round:
    """Stop giving the round to new annotators. Open attempts can be finished.

    Raise :class:`LastActiveRound` for the only active round of the test, and :class:`InvalidRound` for one
    without a key.
    """
    round = lock_rounds(round)[round.pk]
    if round.state == Round.State.PREPARING:
        raise InvalidRound(_("The round has no answer key yet, so it is not active."))
    others = Round.objects.active_in(round.study).exclude(pk=round.pk)
    if round.state == Round.State.ACTIVE and not round.is_practice and not others.exists():
        raise LastActiveRound(
            _("This is the only active round, and without it there is no test. Activate another round first.")
        )
    return move_round(round=round, state=Round.State.RETIRED, by=by, now=now)


def retire_others(round: Round, locked: Iterable[Round], *, by: User | None, now: datetime) -> None:
    """Retire the other active rounds of this kind: tests, or practice."""
    for other in locked:
        is_like = other.is_practice == round.is_practice and other.pk != round.pk
        if is_like and other.state == Round.State.ACTIVE:
            move_round(round=other, state=Round.State.RETIRED, by=by, now=now)


def check_has_test(study: Study) -> None:
    """Raise :class:`NoTestHere` for a study that relies on another study's test."""
    if why_not := why_no_test(study):
        raise NoTestHere(why_not)


def check_decided(round: Round) -> None:
    """Raise :class:`ExpertsAtWork` for a round whose experts' answers are not revealed."""
    if why_not := why_undecided(round):
        raise ExpertsAtWork(why_not)


@transaction.atomic
def remember_readers(*, round: Round) -> None:
    """Record everybody who can read the round's new key, or its revealed answers."""
    readers = readers_in([round.study_id])
    KeyReader.objects.bulk_create(
        (KeyReader(round=round, reader=reader) for reader in readers), ignore_conflicts=True
    )


def lock_rounds(round: Round) -> dict[int, Round]:
    """Lock all rounds of this round's study, as :func:`lock_rounds_of` does."""
    return lock_rounds_of(round.study)


def lock_rounds_of(study: Study) -> dict[int, Round]:
    """Lock and return all rounds of the study by id, ordered by number."""
    held = Round.objects.select_for_update(of=("self",), no_key=True).select_related("study")
    return {one.pk: one for one in held.filter(study=study).order_by("number")}


@transaction.atomic
def move_round(*, round: Round, state: Round.State, by: User | None, now: datetime) -> Round:
    """Set a locked round's state and record the event, unless it is in that state already.

    Raise :class:`InvalidRound` for practice of a text that was imported to be voted on meanwhile.
    """
    if round.state != state:
        if round.is_practice and state == Round.State.ACTIVE:
            entries = round.round_stories.select_related("story").order_by("position")
            _check_kept_apart(round.study, [entry.story for entry in entries], round.kind)
        round.state = state
        round.save(update_fields=["state"])
        record_about_round(round=round, type=Event.Type.ROUND_CHANGED, by=by, now=now, note=state)
    return round
