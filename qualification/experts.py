"""What can be read of the experts' answers: the one place that says who sees whose.

An expert reads their own answers. Those of others can be read once the round's answers are laid open, which
is when nobody answers blind any more: every expert has handed in, or is not waited for.

Blindness goes by story, not by round: a key of the same stories tells as much, also that of a clone of the
study. While somebody is waited for, every round with one of their stories is closed to them, whatever
their rights; and whoever can or could read a key of a story is not asked to answer it blind.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Min

from accounts.models import User
from annotation.models import Event, Study
from annotation.protocols.base import field_name
from annotation.rights import RIGHTS, Right, rights_in
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


def closed_rounds(reader: User) -> frozenset[int]:
    """The rounds (numbers of their rows) of whose keys, answers and rates this person must see nothing.

    Those with a story that they have still to answer as an expert: the same text under the same id, in
    whatever round or study. Two queries at most.
    """
    pending = ExpertReview.objects.filter(expert=reader, handed_in_at=None, dismissed_at=None)
    hashes = RoundStory.objects.filter(round__reviews__in=pending).values_list(
        "story__content_hash", flat=True
    )
    return frozenset(_rounds_with(set(hashes)))


def is_closed_in(study: Study, reader: User) -> bool:
    """Whether any round of the study is closed to this person, and so is all that holds its keys."""
    closed = closed_rounds(reader)
    return bool(closed) and Round.objects.filter(study=study, pk__in=closed).exists()


def who_knows(round: Round, people: Iterable[User]) -> list[User]:
    """Of these people, who can or could read what is accepted for a story of the round, or laid-open answers.

    That is who may change a study with such a round, or might while it had its key, and who has been an
    expert of it until it was laid open. Not who could read rates: a rate says how many answered acceptably,
    never what is acceptable, and every member may read them, so that nobody would be left to ask.
    """
    hashes = set(round.round_stories.values_list("story__content_hash", flat=True))
    rounds = Round.objects.filter(pk__in=_rounds_with(hashes)).select_related("study")
    telling = [(one, since) for one in rounds if (since := _tells_since(one))]
    return [person for person in people if any(_could_read(*known, person) for known in telling)]


def _rounds_with(hashes: set[str]) -> set[int]:
    if not hashes:
        return set()
    entries = RoundStory.objects.filter(story__content_hash__in=hashes)
    return set(entries.values_list("round", flat=True))


def _tells_since(round: Round) -> datetime | None:
    """Since when the round has a key, or answers that are laid open."""
    key_at = round.keys.aggregate(at=Min("created_at"))["at"]
    return min((at for at in (key_at, round.laid_open_at) if at), default=None)


def _could_read(round: Round, since: datetime, person: User) -> bool:
    """Whether the person can read the key or the laid-open answers of this round, or could at some time."""
    if Right.CHANGE in rights_in(person, round.study) or person.has_perm("qualification.view_answerkey"):
        return True
    asked = round.reviews.filter(expert=person)
    if round.laid_open_at and asked.filter(handed_in_at__isnull=False).exists():
        return True
    roles = Event.objects.filter(study=round.study, subject=person.get_username())
    may_change = [role for role, rights in RIGHTS.items() if Right.CHANGE in rights]
    moved = roles.filter(type__in=(Event.Type.ROLE_GIVEN, Event.Type.ROLE_TAKEN), at__gt=since)
    return moved.exists() and roles.filter(type=Event.Type.ROLE_GIVEN, note__in=may_change).exists()


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
