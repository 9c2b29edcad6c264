"""Queries about experts' answers, who may read them, and who knows too much to answer a round blind.

Experts read their own answers. The answers of others can be read once the round's answers are revealed, when
nobody answers blind any more: every expert has handed in or was dismissed.

Blindness is a matter of texts, not of rounds or ids: a key of the same text reveals as much in a clone of the
study, in a story imported again, or in a hidden check. Until experts have answered, everything about their
texts is closed to them, whatever their rights.

Who can or could read a key of a text cannot be asked about it. Access counts, not reading: it comes from a
role in a study with such a key, or from a permission that opens keys in all studies. Past access is known
from those who had it when a key was made or answers were revealed (``KeyReader``), and from later roles in
the log.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, Min, QuerySet
from django.utils.translation import gettext as _

from accounts.models import User
from annotation.models import CheckKey, Event, Membership, Study
from annotation.protocols.questions import field_name
from annotation.rights import CHANGE_ALL, RIGHTS, Right, having
from qualification.models import ExpertAnswer, ExpertReview, KeyReader, Round, RoundStory
from qualification.rules import agreement

Chosen = Mapping[tuple[int, str], Mapping[str, list[str]]]
"""Per story (its position in the round) and form field: per option, the names of the experts who chose it."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """Agreement of a round's experts: questions that all answered alike, all questions, and the mean share of
    agreeing pairs in 0..1 (None for fewer than two experts).
    """

    alike: int
    questions: int
    mean: float | None


@dataclass(frozen=True, slots=True)
class PendingReview:
    """A round that an expert has still to answer, with the number of stories answered so far."""

    round: Round
    stories: int
    answered: int

    @property
    def is_complete(self) -> bool:
        """Return True if only handing in is left. Answers to a story are saved all at once."""
        return self.answered == self.stories


def review_of(round: Round, reader: User) -> ExpertReview | None:
    """Return the reader's review of the round; None if they were not asked."""
    return ExpertReview.objects.select_related("round", "expert").filter(round=round, expert=reader).first()


def why_undecided(round: Round) -> str:
    """Return the reason why the round's key cannot be set yet; empty if it can.

    Experts are still answering, or their answers are not revealed.
    """
    if round.revealed_at:
        return ""
    asked = list(round.reviews.filter(dismissed_at=None).values_list("handed_in_at", flat=True))
    if None in asked:
        return _(
            "Experts are still answering. Their answers stay hidden until all have handed in, or until you "
            "reveal those handed in so far."
        )
    if asked:
        return _(
            "No expert is answering any more, and the answers are not revealed yet. Reveal them on the page "
            "of the round, or ask another expert first."
        )
    return ""


def pending_reviews(reader: User, *, study: Study | None = None) -> list[PendingReview]:
    """Return the rounds that the reader has still to answer, in one study or all. One query."""
    pending = ExpertReview.objects.pending().filter(expert=reader)
    if study is not None:
        pending = pending.filter(round__study=study)
    counted = pending.annotate(
        stories=Count("round__round_stories", distinct=True),
        answered=Count("answers__round_story", distinct=True),
    )
    ordered: QuerySet[Any] = counted.select_related("round__study").order_by(
        "round__study__title", "round__number"
    )
    return [PendingReview(review.round, review.stories, review.answered) for review in ordered]


def closed_texts(reader: User) -> frozenset[str]:
    """Return the hashes of the texts that this person has still to answer blind, in any round or study.

    They must not see any key, answers, rates or results about these texts.
    """
    pending = ExpertReview.objects.pending().filter(expert=reader)
    stories = RoundStory.objects.filter(round__reviews__in=pending)
    return frozenset(stories.values_list("story__text_hash", flat=True))


def closed_rounds(reader: User) -> frozenset[int]:
    """Return the primary keys of the rounds with one of the :func:`closed_texts`. At most two queries."""
    texts = closed_texts(reader)
    if not texts:
        return frozenset()
    entries = RoundStory.objects.filter(story__text_hash__in=texts)
    return frozenset(entries.values_list("round", flat=True))


def is_closed_in(study: Study, reader: User) -> bool:
    """Return True if a key of the study is closed to this person, and so everything with the study's keys."""
    texts = closed_texts(reader)
    if not texts:
        return False
    rounds = RoundStory.objects.filter(round__study=study, story__text_hash__in=texts)
    checks = CheckKey.objects.filter(story__study=study, story__text_hash__in=texts)
    return rounds.exists() or checks.exists()


def own_answers(review: ExpertReview) -> dict[int, dict[str, str]]:
    """Return an expert's own answers: per position of a story, per form field, the option."""
    answers: dict[int, dict[str, str]] = {}
    for answer in review.answers.select_related("round_story"):
        answers.setdefault(answer.round_story.position, {})[answer.choice.field] = answer.option
    return answers


def chosen_in(round: Round) -> Chosen:
    """Return the experts' revealed choices about the round's stories.

    Answers about the same stories in another round of the study count, too, so that a new round takes them
    over. The latest answer of each expert counts.
    """
    positions = dict(round.round_stories.values_list("story", "position"))
    answers = ExpertAnswer.objects.revealed().filter(round_story__story__in=list(positions))
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
    return Counter({option: len(names) for option, names in names_by_option.items()})


def agreement_over(cells: Iterable[Mapping[str, list[str]]]) -> Agreement:
    every = [counts(cell) for cell in cells]
    shares = [share for share in map(agreement, every) if share is not None]
    return Agreement(
        alike=sum(len(cell) == 1 for cell in every),
        questions=len(every),
        mean=sum(shares) / len(shares) if shares else None,
    )


OPENING = (
    CHANGE_ALL,
    "annotation.view_checkkey",
    "qualification.view_answerkey",
    "qualification.view_attemptanswer",
)
"""Permissions that open keys, or answers graded by them, in all studies and the back office."""
MAY_CHANGE = frozenset(role for role, rights in RIGHTS.items() if Right.CHANGE in rights)


def readers_in(studies: Iterable[int]) -> QuerySet[User]:
    """Return everybody who can read keys and revealed answers of one of these studies now."""
    members = Membership.objects.filter(study__in=list(studies), role__in=MAY_CHANGE)
    return having(members, permissions=OPENING)


def people_who_know(round: Round, people: Iterable[User]) -> list[User]:
    """Return those of these people who can or could read a key or revealed answers of the round's texts.

    Texts count, not ids: rounds and hidden checks of all studies are searched. Rates do not count: they tell
    how many answers were acceptable but not which, and every member may read them, so that nobody would be
    left to ask. Six queries, however many people, rounds and studies there are.
    """
    people = list(people)
    rounds, since = _sources(round)
    if not people or not since:
        return []
    ids = {person.pk for person in people}
    reviews = ExpertReview.objects.filter(round__in=rounds, handed_in_at__isnull=False)
    knowing = {
        *readers_in(since).filter(pk__in=ids).values_list("pk", flat=True),
        *KeyReader.objects.filter(round__in=rounds, reader__in=ids).values_list("reader", flat=True),
        *reviews.filter(round__revealed_at__isnull=False).values_list("expert", flat=True),
        *_had_a_role(since, ids),
    }
    return [person for person in people if person.pk in knowing]


def _sources(round: Round) -> tuple[list[int], dict[int, datetime]]:
    """Return what reveals something about a round's texts: rounds, and the first time of one per study."""
    texts = round.round_stories.values("story__text_hash")
    since: dict[int, datetime] = {}
    rounds = []
    found = Round.objects.filter(round_stories__story__text_hash__in=texts).annotate(
        key_at=Min("keys__created_at")
    )
    for number, study, *times in found.values_list("pk", "study", "key_at", "revealed_at"):
        revealed = [at for at in times if at]
        if revealed:
            rounds.append(number)
            since[study] = min([*revealed, *filter(None, [since.get(study)])])
    checks = CheckKey.objects.filter(story__text_hash__in=texts).values("story__study")
    for study, at in checks.annotate(at=Min("created_at")).values_list("story__study", "at"):
        since[study] = min([at, *filter(None, [since.get(study)])])
    return rounds, since


def _had_a_role(since: dict[int, datetime], people: Collection[int]) -> set[int]:
    """Return those who could change one of these studies at some time since then, by the log."""
    moves = Event.objects.filter(
        member__in=people, study__in=since, type__in=(Event.Type.ROLE_GIVEN, Event.Type.ROLE_TAKEN)
    )
    knowing = set()
    might: dict[tuple[int, int], bool] = {}
    for study, person, type, role, at in moves.order_by("pk").values_list(
        "study", "member", "type", "note", "at"
    ):
        may = type == Event.Type.ROLE_GIVEN and role in MAY_CHANGE
        if at >= since[study] and (may or might.get((study, person))):
            knowing.add(person)
        might[study, person] = may
    return knowing
