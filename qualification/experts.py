"""What can be read of the experts' answers: the one place that says who sees whose.

An expert reads their own answers. Those of others can be read once the round's answers are laid open, which
is when nobody answers blind any more: every expert has handed in, or is not waited for.

Blindness goes by text, not by round or id: a key of the same text tells as much, also that of a clone of the
study, of a story imported anew, or of a hidden check. While somebody is waited for, all that has one of their
texts is closed to them, whatever their rights. Who is not asked in the first place says
:mod:`qualification.knowing`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from django.db.models import Count
from django.utils.translation import gettext as _

from accounts.models import User
from annotation.models import CheckKey, Study
from annotation.protocols.base import field_name
from qualification.models import ExpertAnswer, ExpertReview, Round, RoundStory
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


@dataclass(frozen=True, slots=True)
class Asked:
    """What somebody has still to answer as an expert: a round, and how many of its stories they have."""

    round: Round
    stories: int
    answered: int

    @property
    def is_complete(self) -> bool:
        """Whether only handing in is left. Answers to a story are saved all at once."""
        return self.answered == self.stories


def review_of(round: Round, reader: User) -> ExpertReview | None:
    """What the reader was asked for as an expert of the round; None for who was not asked."""
    return ExpertReview.objects.select_related("round", "expert").filter(round=round, expert=reader).first()


def why_undecided(round: Round) -> str:
    """Why nothing can be decided about the round's key yet; empty where it can.

    Somebody is still answering blind, or what was handed in is not laid open.
    """
    if round.laid_open_at:
        return ""
    asked = list(round.reviews.filter(dismissed_at=None).values_list("handed_in_at", flat=True))
    if None in asked:
        return _(
            "Experts are still answering. Until all have handed in, or what there is has been laid open, "
            "nobody sees anything."
        )
    if asked:
        return _(
            "Nobody is answering any more, and what was handed in is not laid open yet. Lay it open on the "
            "page of the round, or ask somebody else first."
        )
    return ""


def waited_for(reader: User, *, study: Study | None = None) -> list[Asked]:
    """The rounds that the reader has still to answer as an expert: of all studies, or of one. One query."""
    pending = ExpertReview.objects.filter(expert=reader, handed_in_at=None, dismissed_at=None)
    if study is not None:
        pending = pending.filter(round__study=study)
    counted = pending.annotate(
        stories=Count("round__round_stories", distinct=True),
        answered=Count("answers__round_story", distinct=True),
    )
    ordered = counted.select_related("round__study").order_by("round__study__title", "round__number")
    return [Asked(review.round, review.stories, review.answered) for review in ordered]


def closed_texts(reader: User) -> frozenset[str]:
    """The texts (their hashes) about which this person must see no key, answers or rates, nor what passed:
    those that they have still to answer as an expert, under whatever id, in whatever round or study.
    """
    pending = ExpertReview.objects.filter(expert=reader, handed_in_at=None, dismissed_at=None)
    stories = RoundStory.objects.filter(round__reviews__in=pending)
    return frozenset(stories.values_list("story__text_hash", flat=True))


def closed_rounds(reader: User) -> frozenset[int]:
    """The rounds (numbers of their rows) with one of the :func:`closed_texts`. Two queries at most."""
    texts = closed_texts(reader)
    if not texts:
        return frozenset()
    entries = RoundStory.objects.filter(story__text_hash__in=texts)
    return frozenset(entries.values_list("round", flat=True))


def is_closed_in(study: Study, reader: User) -> bool:
    """Whether a key of the study is closed to this person, and so is all that holds its keys."""
    texts = closed_texts(reader)
    if not texts:
        return False
    rounds = RoundStory.objects.filter(round__study=study, story__text_hash__in=texts)
    checks = CheckKey.objects.filter(story__study=study, story__text_hash__in=texts)
    return rounds.exists() or checks.exists()


def own_answers(review: ExpertReview) -> dict[int, dict[str, str]]:
    """An expert's own answers: per position of a story, per form field, the option."""
    answers: dict[int, dict[str, str]] = {}
    for position, question, row, option in review.answers.values_list(
        "round_story__position", "question", "row", "option"
    ):
        answers.setdefault(position, {})[field_name(question, row)] = option
    return answers


def chosen_in(round: Round) -> Chosen:
    """Who chose what about the round's stories, as far as it is laid open: nothing before.

    What experts said of the same stories in another round of the study counts too, so that a round that
    is made anew takes it over. Of somebody who answered twice, the later answer stands.
    """
    positions = dict(round.round_stories.values_list("story", "position"))
    answers = ExpertAnswer.objects.laid_open().filter(round_story__story__in=list(positions))
    last: dict[tuple[str, int, str], str] = {}
    for name, story, question, row, option in answers.order_by("review__handed_in_at").values_list(
        "review__expert__username", "round_story__story", "question", "row", "option"
    ):
        last[name, positions[story], field_name(question, row)] = option
    chosen: dict[tuple[int, str], dict[str, list[str]]] = {}
    for (name, position, field), option in sorted(last.items()):
        chosen.setdefault((position, field), {}).setdefault(option, []).append(name)
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
