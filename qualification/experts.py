"""What can be read of the experts' answers: the one place that says who sees whose.

An expert reads their own answers. Those of others can be read once the round's answers are laid open, which
is when nobody answers blind any more: every expert has handed in, or is not waited for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from accounts.models import User
from annotation.models import Study
from annotation.protocols.base import field_name
from qualification.models import ExpertAnswer, ExpertReview, Round
from qualification.rules import agreement

Chosen = Mapping[tuple[int, str], Mapping[str, list[str]]]
"""Per story (its position in the round) and form field: per option, the names of who chose it."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far the experts of a round agree: questions they all answered alike, of all; and the mean share
    of agreeing pairs, in 0..1 (None of fewer than two experts).
    """

    alike: int
    questions: int
    mean: float | None


def review_of(round: Round, reader: User) -> ExpertReview | None:
    """What the reader was asked for as an expert of the round; None for who was not asked."""
    return ExpertReview.objects.select_related("round", "expert").filter(round=round, expert=reader).first()


def is_gathering(round: Round) -> bool:
    """Whether experts have been asked whose answers are not laid open yet."""
    return round.laid_open_at is None and round.reviews.filter(dismissed_at=None).exists()


def waited_for(study: Study, reader: User) -> list[ExpertReview]:
    """The rounds of the study that the reader has still to answer as an expert."""
    pending = ExpertReview.objects.filter(
        round__study=study, expert=reader, handed_in_at=None, dismissed_at=None
    )
    return list(pending.select_related("round").order_by("round__number"))


def own_answers(review: ExpertReview) -> dict[int, dict[str, str]]:
    """An expert's own answers: per position of a story, per form field, the option."""
    answers: dict[int, dict[str, str]] = {}
    for position, question, row, option in review.answers.values_list(
        "round_story__position", "question", "row", "option"
    ):
        answers.setdefault(position, {})[field_name(question, row)] = option
    return answers


def chosen_in(round: Round) -> Chosen:
    """Who chose what, as far as it is laid open: nothing before."""
    chosen: dict[tuple[int, str], dict[str, list[str]]] = {}
    answers = (
        ExpertAnswer.objects.laid_open()
        .filter(review__round=round)
        .select_related("review__expert", "round_story")
    )
    for answer in answers.order_by("review__expert__username"):
        cell = chosen.setdefault((answer.round_story.position, field_name(answer.question, answer.row)), {})
        cell.setdefault(answer.option, []).append(answer.review.expert.get_username())
    return chosen


def counts(names_by_option: Mapping[str, list[str]]) -> Counter[str]:
    """How many experts chose each option."""
    return Counter({option: len(names) for option, names in names_by_option.items()})


def agreement_over(cells: Iterable[Mapping[str, list[str]]]) -> Agreement:
    """How far experts agree over all these questions."""
    every = [counts(cell) for cell in cells]
    shares = [share for share in map(agreement, every) if share is not None]
    return Agreement(
        alike=sum(len(cell) == 1 for cell in every),
        questions=len(every),
        mean=sum(shares) / len(shares) if shares else None,
    )
