"""Queries about attempts at the test: the options that people chose, and one person's attempts."""

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, F, Q, QuerySet

from annotation.models import Enrollment
from annotation.protocols.base import field_name
from qualification.models import Attempt, AttemptAnswer, PracticeAnswer, Round, RoundStory
from qualification.rates import cached_figures

Chosen = Mapping[tuple[int, str], Mapping[str, int]]
"""How many people chose each option, by round story (its primary key) and form field."""


@dataclass(frozen=True, slots=True)
class Option:
    """An answer to a question of the test; ``share`` is its share of all answers, 0..1."""

    label: str
    people: int
    share: float
    accepted: bool


@dataclass(frozen=True, slots=True)
class Asked:
    """A question about a test story, with every option in the order of the form."""

    title: str
    options: list[Option]


def chosen_in(round: Round) -> dict[int, list[Asked]]:
    """Return, by position in the round, the options that people chose in their first attempts or turns.

    Empty without attempts. ``accepted`` follows the newest key, which is frozen while there are attempts.
    Five queries; the one over all answers is cached.
    """
    chosen = _chosen(round)
    if not chosen:
        return {}
    newest = round.keys.order_by("version").last()
    accepted = newest.accepted if newest else {}
    found: dict[int, list[Asked]] = {}
    for entry in round.round_stories.select_related("story__study").order_by("position"):
        found[entry.position] = [
            Asked(cell.title, _options(cell.options, chosen.get((entry.pk, cell.field), {}), right))
            for cell in entry.story.cells
            for right in [accepted.get(entry.pk, {}).get(cell.field, ())]
        ]
    return found


def attempts_of(enrollment: Enrollment, *, closed: Collection[str]) -> list[dict[str, Any]]:
    """Return the person's finished attempts: ``attempt``, and ``missed`` as (story, question) pairs.

    Attempts at rounds with a ``closed`` text are left out: the reader must not learn its key. Two queries.
    """
    given = Attempt.objects.filter(enrollment=enrollment, state=Attempt.State.SUBMITTED)
    secret = RoundStory.objects.filter(story__text_hash__in=list(closed))
    attempts = list(given.exclude(round__in=secret.values("round")).select_related("round").order_by("pk"))
    titles = {question.key: str(question.title) for question in enrollment.study.protocol.questions}
    missed: defaultdict[int, list[tuple[int, str]]] = defaultdict(list)
    wrong = AttemptAnswer.objects.filter(attempt__in=attempts, accepted=False).select_related("round_story")
    for answer in wrong.order_by("round_story__position", "question", "row"):
        title = titles.get(answer.question, answer.question)
        named = f"{title}: {answer.row}" if answer.row else title
        missed[answer.attempt_id].append((answer.round_story.position, named))
    return [{"attempt": attempt, "missed": missed[attempt.pk]} for attempt in attempts]


def practised_in(round: Round) -> list[Mapping[str, Any]]:
    """Return, per story of a practice round: ``position``, ``people``, and how many first went ``wrong``."""
    answers = first_turns(round).order_by("round_story__position")
    return list(
        answers.values(position=F("round_story__position")).annotate(
            people=Count("enrollment", distinct=True),
            wrong=Count("enrollment", distinct=True, filter=Q(accepted=False)),
        )
    )


def first_turns(round: Round) -> QuerySet[PracticeAnswer]:
    """Return everybody's first answers in a practice round, of the study's own environment."""
    return PracticeAnswer.objects.filter(
        round_story__round=round, turn=1, enrollment__environment=round.study.environment
    )


def _chosen(round: Round) -> Chosen:
    """Return the counts, cached until somebody else answers for the first time: they read every answer."""
    if round.is_practice:
        answers = first_turns(round)
        of = {round.pk: answers.count()}
        return cached_figures(round.study, f"choices:{round.pk}", of, lambda: _counted(answers))
    first = Attempt.objects.filter(
        round=round, state=Attempt.State.SUBMITTED, number=1, enrollment__environment=round.study.environment
    )
    of = {round.pk: first.count()}
    answered = AttemptAnswer.objects.filter(attempt__in=first)
    return cached_figures(round.study, f"choices:{round.pk}", of, lambda: _counted(answered))


def _counted(answers: QuerySet[AttemptAnswer] | QuerySet[PracticeAnswer]) -> Chosen:
    rows = (
        answers.order_by()
        .values_list("round_story", "question", "row", "option")
        .annotate(people=Count("pk"))
    )
    found: defaultdict[tuple[int, str], Counter[str]] = defaultdict(Counter)
    for story, question, row, option, people in rows:
        found[story, field_name(question, row)][option] = people
    return found


def _options(offered: Any, chosen: Mapping[str, int], accepted: Collection[str]) -> list[Option]:
    everybody = sum(chosen.values())
    return [
        Option(
            str(option.label),
            chosen.get(option.key, 0),
            chosen.get(option.key, 0) / everybody if everybody else 0.0,
            option.key in accepted,
        )
        for option in offered
    ]
