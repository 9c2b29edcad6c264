"""Experts answer a round's stories blind; then all answers are revealed at once and for good."""

from collections.abc import Collection, Mapping
from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from accounts.models import User, locked
from annotation.errors import InvalidInput, WrongState
from annotation.models import Event, Membership, Study
from qualification.actions.rounds import check_has_test, lock_rounds_of, record_about_round, remember_readers
from qualification.errors import AlreadyHandedIn
from qualification.experts import people_who_know
from qualification.models import ExpertAnswer, ExpertReview, Round, RoundStory


@transaction.atomic
def ask_experts(
    *, round: Round, experts: Collection[User], by: User | None, now: datetime
) -> list[ExpertReview]:
    """Ask members of the study to answer the round's stories. Those asked already are skipped.

    Raise :class:`InvalidInput` if there are none, or for somebody who is no member, or who can or could
    read a key of these stories (also if they were asked and dismissed before); and :class:`WrongState` once
    answers are revealed or the round has attempts, while it is active, or for a study that relies on
    another study's test.
    """
    round = _lock(round)
    check_has_test(round.study)
    if round.attempts.exists():
        raise WrongState(
            _("Annotators have attempted this round, so its key can’t change. Create a new round instead.")
        )
    if round.state == Round.State.ACTIVE:
        text = _(
            "This round is active, and its first attempt freezes its key. Retire the round first, or "
            "create a new round of these stories and ask the experts there."
        )
        raise WrongState(text)
    if not experts:
        raise InvalidInput(_("Choose at least one expert."))
    members = set(Membership.objects.filter(study=round.study_id).values_list("user", flat=True))
    strangers = sorted(str(expert) for expert in experts if expert.pk not in members)
    if strangers:
        raise InvalidInput(
            _("Only members of the study can be its experts. Not members: %(names)s."),
            names=", ".join(strangers),
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
            record_about_round(
                round=round, type=Event.Type.EXPERT_ASKED, by=by, now=now, note=str(expert), member=expert
            )
        reviews.append(review)
    return reviews


def _check_they_are_blind(round: Round, experts: Collection[User]) -> None:
    """Raise :class:`InvalidInput` if one of them could know a key.

    Experts already asked are skipped: keys are hidden from them.
    """
    there = set(round.reviews.filter(dismissed_at=None).values_list("expert", flat=True))
    knowing = people_who_know(round, [expert for expert in experts if expert.pk not in there])
    if knowing:
        text = _(
            "Experts must answer blind. These people could have read a key of these stories, or "
            "revealed answers: %(names)s."
        )
        raise InvalidInput(text, names=", ".join(sorted(map(str, knowing))))


@transaction.atomic
def dismiss_expert(*, review: ExpertReview, by: User | None, now: datetime) -> ExpertReview:
    """Withdraw a request to an expert. They can be asked again until the answers are revealed, unless they
    could read a key of the stories meanwhile.

    Raise :class:`AlreadyHandedIn` for an expert who has handed in: their answers stay.
    """
    round = _lock(review.round)
    review = _held(review)
    if review.dismissed_at is None:
        _dismiss(round, review, by=by, now=now)
    return review


@transaction.atomic
def dismiss_from_study(*, study: Study, expert: User, by: User | None, now: datetime) -> None:
    """Withdraw all open requests to an expert who is no longer a member of the study."""
    for round in lock_rounds_of(study).values():
        pending = round.reviews.pending().filter(expert=expert)
        for review in pending.select_for_update(of=("self",), no_key=True).select_related("expert"):
            _dismiss(round, review, by=by, now=now)


@transaction.atomic
def save_expert_answers(
    *, review: ExpertReview, round_story: RoundStory, submitted: Mapping[str, str]
) -> None:
    """Store an expert's answers about one story of the round. They can change until handed in.

    Raise ``IncompleteForm`` (and store nothing), :class:`AlreadyHandedIn`, or :class:`WrongState` for a
    dismissed expert or one who is no longer a member.
    """
    review = _held(review)
    _check_waited_for(review)
    story = round_story.story
    choices = story.protocol.read_form(story.item, submitted)
    ExpertAnswer.objects.filter(review=review, round_story=round_story).delete()
    ExpertAnswer.objects.bulk_create(
        ExpertAnswer(review=review, round_story=round_story, **choice._asdict()) for choice in choices
    )


@transaction.atomic
def hand_in_review(*, review: ExpertReview, by: User | None, now: datetime) -> ExpertReview:
    """Hand in an expert's answers, for good. The last expert's submission reveals all answers.

    Raise :class:`AlreadyHandedIn`, or :class:`WrongState` if an answer is missing, and for a dismissed
    expert or one who is no longer a member.
    """
    round = _lock(review.round)
    review = _held(review)
    _check_waited_for(review)
    if missing := _incomplete(review):
        text = _("Answers are missing for these stories: %(positions)s.")
        raise WrongState(text, positions=", ".join(map(str, missing)))
    review.handed_in_at = now
    review.save(update_fields=["handed_in_at"])
    record_about_round(round=round, type=Event.Type.EXPERT_DONE, by=by, now=now, note=str(review.expert))
    if not round.reviews.pending().exists():
        _reveal(round, by=by, now=now)
    return review


@transaction.atomic
def close_gathering(*, round: Round, by: User | None, now: datetime) -> Round:
    """Reveal the answers handed in so far, without waiting for the other experts.

    Raise :class:`WrongState` if none were. A round whose answers are revealed already is returned unchanged.
    """
    round = lock_rounds_of(round.study)[round.pk]
    if round.revealed_at:
        return round
    if not round.reviews.filter(handed_in_at__isnull=False).exists():
        raise WrongState(_("No expert has handed in yet, so there is nothing to reveal."))
    for review in round.reviews.pending().select_for_update():
        _dismiss(round, review, by=by, now=now)
    _reveal(round, by=by, now=now)
    return round


def _reveal(round: Round, *, by: User | None, now: datetime) -> None:
    round.revealed_at = now
    round.save(update_fields=["revealed_at"])
    remember_readers(round=round)
    note = "experts' answers revealed"
    record_about_round(round=round, type=Event.Type.ROUND_CHANGED, by=by, now=now, note=note)


def _dismiss(round: Round, review: ExpertReview, *, by: User | None, now: datetime) -> None:
    review.dismissed_at = now
    review.save(update_fields=["dismissed_at"])
    note = f"{review.expert} no longer waited for"
    record_about_round(round=round, type=Event.Type.ROUND_CHANGED, by=by, now=now, note=note)


def _incomplete(review: ExpertReview) -> list[int]:
    answered = set(review.answers.values_list("round_story", "question", "row"))
    entries = RoundStory.objects.filter(round=review.round_id).select_related("story__study")
    return [
        entry.position
        for entry in entries.order_by("position")
        if any((entry.pk, *cell.key) not in answered for cell in entry.story.cells)
    ]


def _lock(round: Round) -> Round:
    round = lock_rounds_of(round.study)[round.pk]
    if round.revealed_at:
        raise WrongState(_("The experts’ answers are revealed, so nobody can answer blind any more."))
    return round


def _held(review: ExpertReview) -> ExpertReview:
    review = locked(review, "expert", "round__study")
    if review.handed_in_at:
        raise AlreadyHandedIn(_("The answers have been handed in, so they can’t change."))
    return review


def _check_waited_for(review: ExpertReview) -> None:
    if review.dismissed_at:
        raise WrongState(_("Your answers are no longer needed."))
    if not Membership.objects.filter(study=review.round.study_id, user=review.expert).exists():
        raise WrongState(_("You are no longer a member of the study, so your answers are not needed."))
