"""Figures of rounds: chosen options, a participant's attempts, notes on hard or leaked questions."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from django.db.models import Count, F, Q, QuerySet

from annotation.models import Enrollment, Study
from annotation.protocols.multiple_choice.quiz import QUIZ
from annotation.protocols.questions import FormCell, field_name
from publishing.statistics.intervals import wilson
from qualification.drift import Halves, corrected, quickens, rises
from qualification.models import Attempt, AttemptAnswer, PracticeAnswer, Round, RoundStory
from qualification.rates import FEWEST, HARD, QuestionRate, RoundRates, cached_figures

Chosen = Mapping[tuple[int, str], Mapping[str, int]]
"""Numbers of people who chose each option, by round story (its primary key) and form field."""


def chosen_in(round: Round) -> dict[int, list[dict[str, Any]]]:
    """Return, by position in the round, the questions about a story and what people chose at first.

    A question has its ``title`` and all ``options`` of the form. An option has its ``label``, ``people``,
    their ``share`` of all answers (0..1), and ``accepted``, by the newest key, which is frozen while there
    are attempts. Empty without attempts. Five queries; the one over all answers is cached.
    """
    chosen = _chosen(round)
    if not chosen:
        return {}
    newest = round.keys.order_by("version").last()
    accepted = newest.accepted if newest else {}
    found: dict[int, list[dict[str, Any]]] = {}
    for entry in round.round_stories.select_related("story__study").order_by("position"):
        right = accepted.get(entry.pk, {})
        found[entry.position] = [
            {"title": cell.title, "options": _options(cell, given, right.get(cell.field, ()))}
            for cell in entry.story.cells
            for given in [chosen.get((entry.pk, cell.field), {})]
        ]
    return found


def attempts_of(enrollment: Enrollment, *, closed: Collection[str]) -> list[dict[str, Any]]:
    """Return the person's finished attempts: ``attempt``, and ``missed`` as (story, question) pairs.

    Attempts at rounds with a ``closed`` text are left out: the reader must not learn its key. Two queries.
    """
    given = Attempt.objects.filter(enrollment=enrollment, state=Attempt.State.SUBMITTED)
    secret = RoundStory.objects.filter(story__text_hash__in=list(closed))
    attempts = list(given.exclude(round__in=secret.values("round")).select_related("round").order_by("pk"))
    asked = (*QUIZ.questions, *enrollment.study.protocol.questions)
    titles = {question.key: str(question.title) for question in asked}
    missed: defaultdict[int, list[tuple[int, str]]] = defaultdict(list)
    wrong = AttemptAnswer.objects.filter(attempt__in=attempts, accepted=False).select_related("round_story")
    for answer in wrong.order_by("round_story__position", "question", "row"):
        title = titles.get(answer.question, answer.question)
        named = f"{title}: {answer.row}" if answer.row else title
        missed[answer.attempt_id].append((answer.round_story.position, named))
    return [{"attempt": attempt, "missed": missed[attempt.pk]} for attempt in attempts]


def practised_in(round: Round) -> list[Mapping[str, Any]]:
    """Return, per story of a practice round: ``position``, ``people``, how many were first ``wrong``."""
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


def _options(cell: FormCell, chosen: Mapping[str, int], accepted: Collection[str]) -> list[dict[str, Any]]:
    everybody = sum(chosen.values()) or 1
    return [
        {
            "label": label,
            "people": chosen.get(key, 0),
            "share": chosen.get(key, 0) / everybody,
            "accepted": key in accepted,
        }
        for key, label in cell.labels.items()
    ]


def rows_of(study: Study, rates: RoundRates) -> list[dict[str, Any]]:
    """Return the round's questions and their figures for a table."""
    return [
        {"rate": rate, "label": _label(study, rate), "story": rates.round.heading_of(rate.position)}
        for rate in rates.questions
    ]


def notes_of(study: Study, rates: RoundRates) -> list[dict[str, Any]]:
    """Return the round's notes, a ``kind`` and its evidence: too hard questions, then possible leaks."""
    return [*_too_hard(study, rates), *_leaks(study, rates)]


def alone_of(study: Study, rates: RoundRates) -> dict[str, Any]:
    """Return the ``questions`` that failed most people alone (several if tied), and how many: ``most``."""
    most = max((rate.alone for rate in rates.questions), default=0)
    worst = [_named(study, rate, rates.round) for rate in rates.questions if rate.alone == most]
    return {"most": most, "questions": worst}


def _too_hard(study: Study, rates: RoundRates) -> Iterator[dict[str, Any]]:
    for rate in rates.questions:
        interval = wilson(rate.accepted, rate.attempts)
        if interval is not None and rate.attempts >= FEWEST and interval[1] < HARD:
            named = _named(study, rate, rates.round)
            yield {"kind": "hard", "question": named, "rate": rate, "low": interval[0], "high": interval[1]}


def _leaks(study: Study, rates: RoundRates) -> Iterator[dict[str, Any]]:
    looked_at = len(rates.questions) + 2  # and the pass rate and the pace
    if rates.passing and rises(rates.passing, looked_at=looked_at):
        yield {"kind": "passed"} | _evidence(rates.passing, looked_at)
    for rate in rates.questions:
        if rises(rate.halves, looked_at=looked_at):
            named = _named(study, rate, rates.round)
            yield {"kind": "accepted", "question": named} | _evidence(rate.halves, looked_at)
    if rates.pace and quickens(rates.pace, looked_at=looked_at):
        yield {"kind": "faster", "pace": rates.pace} | _evidence(rates.pace.faster, looked_at)


def _evidence(halves: Halves, looked_at: int) -> dict[str, Any]:
    p = f"{corrected(halves, looked_at):.2g}"
    return {"halves": halves, "attempts": halves.early + halves.late, "looked_at": looked_at, "p": p}


def _named(study: Study, rate: QuestionRate, round: Round) -> str:
    return f"{round.heading_of(rate.position)}, “{_label(study, rate)}”"


def _label(study: Study, rate: QuestionRate) -> str:
    asked = {question.key: question for question in (*QUIZ.questions, *study.protocol.questions)}
    title = str(asked[rate.question].title)
    return f"{title}: {rate.row}" if rate.row else title
