"""Experts answer a round's stories, each alone; then all are laid open at once and for good."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from accounts.models import User
from annotation import actions as annotation_actions
from annotation.grading import asked
from annotation.models import Event, Membership, Study
from qualification.actions.rounds import check_has_test, lock_rounds, lock_rounds_of, remember_readers
from qualification.errors import (
    AlreadyHandedIn,
    GatheringOver,
    IncompleteReview,
    InvalidExpert,
    KeyIsFrozen,
    NothingHandedIn,
    RoundIsActive,
)
from qualification.knowing import who_knows
from qualification.models import ExpertAnswer, ExpertReview, Round, RoundStory


@transaction.atomic
def ask_experts(
    *, round: Round, experts: Collection[User], by: User | None, now: datetime
) -> list[ExpertReview]:
    """Ask members of the study to answer the round's stories. Who has been asked already stays so.

    Raises :class:`InvalidExpert` for nobody, somebody who does not belong to the study, or who can or could
    read a key of these stories (also once they are not waited for any more); :class:`GatheringOver` once
    answers have been laid open, :class:`KeyIsFrozen` once people have attempted the round,
    :class:`RoundIsActive` while they can, and :class:`NoTestHere` for a study that takes people of another.
    """
    round = _lock(round)
    check_has_test(round.study)
    if round.attempts.exists():
        raise KeyIsFrozen(_("People have attempted this round, so its key stays. Make a new round instead."))
    if round.state == Round.State.ACTIVE:
        raise RoundIsActive(
            _(
                "Newcomers take this round, and its key stays from the first one on. Retire the round first, "
                "or make a new round of these stories and ask the experts there."
            )
        )
    if not experts:
        raise InvalidExpert(_("Choose at least one expert."))
    members = set(Membership.objects.filter(study=round.study_id).values_list("user", flat=True))
    strangers = sorted(str(expert) for expert in experts if expert.pk not in members)
    if strangers:
        raise InvalidExpert(
            _("Only members of the study can be its experts. Not a member: %(names)s.")
            % {"names": ", ".join(strangers)}
        )
    _check_they_are_blind(round, experts)
    reviews = []
    for expert in sorted(experts, key=str):
        review, is_new = ExpertReview.objects.get_or_create(
            round=round, expert=expert, defaults={"asked_by": by, "asked_at": now}
        )
        if review.dismissed_at:
            review.dismissed_at = None
            review.save(update_fields=["dismissed_at"])
            is_new = True
        if is_new:
            _record(round, Event.Type.EXPERT_ASKED, str(expert), by=by, now=now)
        reviews.append(review)
    return reviews


def _check_they_are_blind(round: Round, experts: Collection[User]) -> None:
    """Raises :class:`InvalidExpert` for who knows; who is waited for already has been kept from it."""
    there = set(round.reviews.filter(dismissed_at=None).values_list("expert", flat=True))
    knowing = who_knows(round, [expert for expert in experts if expert.pk not in there])
    if knowing:
        raise InvalidExpert(
            _(
                "Only who has seen no key of these stories can answer blind. Somebody who could read one, or "
                "answers that were laid open: %(names)s."
            )
            % {"names": ", ".join(sorted(map(str, knowing)))}
        )


@transaction.atomic
def dismiss_expert(*, review: ExpertReview, by: User | None, now: datetime) -> ExpertReview:
    """Wait for this expert no longer. They can be asked again until the answers are laid open, unless they
    could read a key of the stories meanwhile.

    Raises :class:`AlreadyHandedIn` for one who has handed in: their answers stay.
    """
    round = _lock(review.round)
    review = _held(review)
    if review.dismissed_at is None:
        _dismiss(round, review, by=by, now=now)
    return review


@transaction.atomic
def dismiss_from_study(*, study: Study, expert: User, by: User | None, now: datetime) -> None:
    """Wait no longer for any answers of somebody who does not belong to the study any more."""
    for round in lock_rounds_of(study).values():
        pending = round.reviews.filter(expert=expert, handed_in_at=None, dismissed_at=None)
        for review in pending.select_for_update(of=("self",), no_key=True).select_related("expert"):
            _dismiss(round, review, by=by, now=now)


@transaction.atomic
def save_expert_answers(
    *, review: ExpertReview, round_story: RoundStory, submitted: Mapping[str, str]
) -> None:
    """Keep an expert's answers about one story of the round; they can change until handed in.

    Raises ``IncompleteForm`` (nothing is stored then), :class:`AlreadyHandedIn`, and
    :class:`InvalidExpert` for somebody who is not waited for any more, or not of the study.
    """
    review = _held(review)
    _check_waited_for(review)
    story = round_story.story
    choices = story.study.protocol.read_form(story.item, submitted)
    ExpertAnswer.objects.filter(review=review, round_story=round_story).delete()
    ExpertAnswer.objects.bulk_create(
        ExpertAnswer(
            review=review,
            round_story=round_story,
            question=choice.question,
            row=choice.row,
            option=choice.option,
        )
        for choice in choices
    )


@transaction.atomic
def hand_in_review(*, review: ExpertReview, by: User | None, now: datetime) -> ExpertReview:
    """Hand an expert's answers in, for good. With the last one that is waited for, all are laid open.

    Raises :class:`IncompleteReview` when an answer is missing, :class:`AlreadyHandedIn`, and
    :class:`InvalidExpert` for somebody who is not waited for any more, or not of the study.
    """
    round = _lock(review.round)
    review = _held(review)
    _check_waited_for(review)
    missing = _incomplete(review)
    if missing:
        raise IncompleteReview(
            _("Some answers are missing: story %(positions)s.")
            % {"positions": ", ".join(str(position) for position in missing)},
            missing,
        )
    review.handed_in_at = now
    review.save(update_fields=["handed_in_at"])
    _record(round, Event.Type.EXPERT_DONE, str(review.expert), by=by, now=now)
    if not _is_waiting(round):
        _lay_open(round, by=by, now=now)
    return review


@transaction.atomic
def close_gathering(*, round: Round, by: User | None, now: datetime) -> Round:
    """Lay open what has been handed in, without waiting for the others.

    Raises :class:`NothingHandedIn`. A round whose answers are laid open stays as it is.
    """
    round = lock_rounds(round)[round.pk]
    if round.laid_open_at:
        return round
    if not round.reviews.filter(handed_in_at__isnull=False).exists():
        raise NothingHandedIn(_("No expert has handed in yet, so there is nothing to lay open."))
    for review in round.reviews.filter(handed_in_at=None, dismissed_at=None).select_for_update():
        _dismiss(round, review, by=by, now=now)
    _lay_open(round, by=by, now=now)
    return round


def _is_waiting(round: Round) -> bool:
    return round.reviews.filter(handed_in_at=None, dismissed_at=None).exists()


def _lay_open(round: Round, *, by: User | None, now: datetime) -> None:
    round.laid_open_at = now
    round.save(update_fields=["laid_open_at"])
    remember_readers(round=round)
    _record(round, Event.Type.ROUND_CHANGED, "experts' answers laid open", by=by, now=now)


def _dismiss(round: Round, review: ExpertReview, *, by: User | None, now: datetime) -> None:
    review.dismissed_at = now
    review.save(update_fields=["dismissed_at"])
    _record(round, Event.Type.ROUND_CHANGED, f"{review.expert} no longer waited for", by=by, now=now)


def _record(round: Round, type: Event.Type, note: str, *, by: User | None, now: datetime) -> None:
    annotation_actions.record_event(
        study=round.study, type=type, by=by, now=now, subject=f"round {round.number}", note=note
    )


def _incomplete(review: ExpertReview) -> list[int]:
    """The positions of the stories that have no complete set of answers."""
    answered = set(review.answers.values_list("round_story", "question", "row"))
    entries = RoundStory.objects.filter(round=review.round_id).select_related("story__study")
    return [
        entry.position
        for entry in entries.order_by("position")
        if any(
            (entry.pk, cell.question, cell.row) not in answered
            for cell in asked(entry.story.study.protocol, entry.story.item)
        )
    ]


def _lock(round: Round) -> Round:
    """The round, locked with its study's others. Raises :class:`GatheringOver` once it is laid open."""
    round = lock_rounds(round)[round.pk]
    if round.laid_open_at:
        raise GatheringOver(_("The experts’ answers have been laid open, so nobody can answer blind now."))
    return round


def _held(review: ExpertReview) -> ExpertReview:
    """The review as it is now, locked. Raises :class:`AlreadyHandedIn`."""
    review = (
        ExpertReview.objects.select_for_update(of=("self",), no_key=True)
        .select_related("expert", "round__study")
        .get(pk=review.pk)
    )
    if review.handed_in_at:
        raise AlreadyHandedIn(_("The answers have been handed in, so they stay as they are."))
    return review


def _check_waited_for(review: ExpertReview) -> None:
    if review.dismissed_at:
        raise InvalidExpert(_("Your answers are not waited for any more."))
    if not Membership.objects.filter(study=review.round.study_id, user=review.expert).exists():
        raise InvalidExpert(_("You do not belong to the study any more, so your answers are not waited for."))
