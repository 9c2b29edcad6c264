"""What people answered in a test: per question how many chose what, and one person's attempts. Reads only."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, QuerySet

from annotation.models import Enrollment
from annotation.protocols.base import field_name
from qualification.models import AcceptableOption, Attempt, AttemptAnswer, Round, RoundStory
from qualification.rates import kept_of

Chosen = Mapping[tuple[int, str], Mapping[str, int]]
"""Per story (its number in the table of the round's stories) and form field: how many chose each option."""


@dataclass(frozen=True, slots=True)
class Option:
    """One answer to a question of the test. ``share`` of all answers to it, 0..1."""

    label: str
    people: int
    share: float
    accepted: bool


@dataclass(frozen=True, slots=True)
class Asked:
    """A question about a story of the test, with every answer to it in the order of the form."""

    title: str
    options: list[Option]


def chosen_in(round: Round) -> dict[int, list[Asked]]:
    """Per position in the round: what people chose in their first attempts, handed in; empty without any.

    Which options are accepted is by the newest key: while there are attempts it does not change. Five
    queries, one of them without the answers where what was chosen is kept.
    """
    chosen = _chosen(round)
    if not chosen:
        return {}
    accepted = _accepted(round)
    found: dict[int, list[Asked]] = {}
    for entry in round.round_stories.select_related("story__study").order_by("position"):
        item = entry.story.item
        found[entry.position] = [
            Asked(
                f"{question.title}: {row.label}" if row.label else str(question.title),
                _options(question.options_for(item), chosen.get(at, {}), accepted.get(at, ())),
            )
            for question in entry.story.study.protocol.questions
            for row in question.rows_for(item)
            for at in [(entry.pk, field_name(question.key, row.key))]
        ]
    return found


def attempts_of(enrollment: Enrollment, *, closed: Collection[str]) -> list[dict[str, Any]]:
    """The person's attempts that were handed in: ``attempt``, and ``missed`` (story, question) in its order.

    ``closed``: texts about which the reader must not know what is accepted; attempts at rounds with one of
    them are left out. Two queries.
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


def _chosen(round: Round) -> Chosen:
    """Kept until another first attempt is handed in, and a little longer: it looks at every answer."""
    first = Attempt.objects.filter(
        round=round,
        state=Attempt.State.SUBMITTED,
        number=1,
        enrollment__environment=round.study.environment,
    )
    of = {round.pk: first.count()}
    return kept_of(round.study, f"choices:{round.pk}", of, lambda: _counted(first))


def _counted(first: QuerySet[Attempt]) -> Chosen:
    rows = (
        AttemptAnswer.objects.filter(attempt__in=first)
        .order_by()
        .values_list("round_story", "question", "row", "option")
        .annotate(people=Count("pk"))
    )
    found: defaultdict[tuple[int, str], Counter[str]] = defaultdict(Counter)
    for story, question, row, option, people in rows:
        found[story, field_name(question, row)][option] = people
    return found


def _accepted(round: Round) -> Mapping[tuple[int, str], set[str]]:
    newest = round.keys.order_by("-version").first()
    found: defaultdict[tuple[int, str], set[str]] = defaultdict(set)
    for option in AcceptableOption.objects.filter(key=newest):
        found[option.round_story_id, field_name(option.question, option.row)].add(option.option)
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
