"""Pass rates of every round, and acceptance rates of every question about every story, early and late."""

import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from django.core.cache import caches
from django.db import connection
from django.db.models import Count, Q, QuerySet

from annotation.models import Study
from qualification.drift import Halves, Pace, look_at
from qualification.models import TESTS, Attempt, Round
from qualification.queries import Tested
from tomannot.cache import row_key

FEWEST = 10
"""Attempts needed before a question is called too hard."""
HARD = 0.5
"""A question is too hard, or its key too narrow, if even the interval's upper end is below this."""
KEPT_SECONDS = 24 * 3600
REST = 20
"""Figures over all answers are recomputed after this multiple of their duration at the earliest."""
SHAPE = 4
"""Version of the cached values; raise it when their form changes, so that no old ones are read."""


@dataclass(frozen=True, slots=True)
class QuestionRate:
    """Acceptance of the answers to one question about one story, over submitted first attempts."""

    story_id: str
    position: int
    question: str
    row: str
    attempts: int
    """Submitted first attempts."""
    accepted: int
    """Attempts whose answer was accepted here."""
    alone: int
    """Attempts that failed by this answer alone."""
    halves: Halves
    """Accepted answers in the earlier and later half of the last look (``drift.look_at``)."""

    @property
    def share(self) -> float:
        """In 0..1."""
        return self.accepted / self.attempts if self.attempts else 0.0


@dataclass(frozen=True, slots=True)
class RoundRates(Tested):
    """A round's rates. Counts are of annotators, over all their attempts.

    ``passing``, ``pace`` and ``questions`` cover first attempts; ``later_tries`` counts other submissions.
    """

    round: Round
    later_tries: int
    passing: Halves | None
    pace: Pace | None
    questions: list[QuestionRate]


Found = TypeVar("Found")
Figures = tuple[dict[int, list[QuestionRate]], dict[int, Halves], dict[int, Pace]]
"""By the round's primary key: its questions, early and late passes, and durations."""


def rates_of(study: Study) -> list[RoundRates]:
    """Return the rates of every test and quiz of a study, newest first. At most four queries.

    Figures over all answers are cached until another attempt is handed in, and a little longer, so that they
    cost at most a twentieth of a server (:data:`REST`).
    """
    submitted = Q(attempts__state=Attempt.State.SUBMITTED)
    rounds = Round.objects.filter(study=study, kind__in=TESTS).order_by("-number")
    counted: QuerySet[Any] = rounds.annotate(
        started=_of(study, "enrollment", submitted | Q(attempts__state=Attempt.State.STARTED)),
        handed_in=_of(study, "enrollment", submitted),
        succeeded=_of(study, "enrollment", submitted & Q(attempts__passed=True)),
        first=_of(study, "pk", submitted & Q(attempts__number=1)),
        later=_of(study, "pk", submitted & Q(attempts__number__gt=1)),
    )
    first = {round.pk: round.first for round in counted}
    questions, passing, paces = cached_figures(study, "figures", first, lambda: _computed(study, first))
    return [
        RoundRates(
            round=round,
            started=round.started,
            submitted=round.handed_in,
            passed=round.succeeded,
            later_tries=round.later,
            passing=passing.get(round.pk),
            pace=paces.get(round.pk),
            questions=questions.get(round.pk, []),
        )
        for round in counted
    ]


def _of(study: Study, what: str, which: Q) -> Count:
    """Count this of the attempts in the study's environment that match ``which``."""
    theirs = Q(attempts__enrollment__environment=study.environment)
    return Count(f"attempts__{what}", distinct=True, filter=theirs & which)


def cached_figures(study: Study, name: str, attempts: dict[int, int], compute: Callable[[], Found]) -> Found:
    """Return figures over these attempts per round: from the cache if it has them for the same attempts, or
    if recomputing is not due yet (:data:`REST`), otherwise computed.

    ``name`` distinguishes the cached figures of one study.
    """
    key = row_key(study, f"round-{name}:{SHAPE}:{study.environment}")
    begun = time.time()
    kept: tuple[dict[int, int], float, float, Found] | None = caches["shared"].get(key)
    if kept:
        covered, made_at, took, figures = kept
        if covered == attempts or begun < made_at + REST * took:
            return figures
    figures = compute()
    made_at = time.time()
    caches["shared"].set(key, (attempts, made_at, made_at - begun, figures), KEPT_SECONDS)
    return figures


def _computed(study: Study, handed_in: dict[int, int]) -> Figures:
    looks = {round_id: look_at(number) for round_id, number in handed_in.items()}
    return (_questions(study, looks), *_paces(study, looks))


def _rows(query: str, study: Study, looks: dict[int, int]) -> list[tuple[Any, ...]]:
    files = (Path(__file__).parent / "sql" / f"{name}.sql" for name in ("handed_in", query))
    named: dict[str, Any] = {
        "study": study.pk,
        "environment": study.environment,
        "rounds": list(looks),
        "looks": list(looks.values()),
    }
    with connection.cursor() as cursor:
        cursor.execute("".join(file.read_text(encoding="utf-8") for file in files), named)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
        return rows


def _questions(study: Study, looks: dict[int, int]) -> dict[int, list[QuestionRate]]:
    order = {question.key: number for number, question in enumerate(study.protocol.questions)}
    found: defaultdict[int, list[QuestionRate]] = defaultdict(list)
    for round_id, story_id, position, question, row, attempts, accepted, alone, *halves in _rows(
        "questions", study, looks
    ):
        found[round_id].append(
            QuestionRate(story_id, position, question, row, attempts, accepted, alone, Halves(*halves))
        )
    for rates in found.values():
        rates.sort(key=lambda rate: (rate.position, order.get(rate.question, 0), rate.row))
    return dict(found)


def _paces(study: Study, looks: dict[int, int]) -> tuple[dict[int, Halves], dict[int, Pace]]:
    """Return, per round with a look, the passes in each half and the durations."""
    halves: defaultdict[int, dict[bool, tuple[Any, ...]]] = defaultdict(dict)
    for round_id, late, *figures in _rows("paces", study, looks):
        halves[round_id][late] = tuple(figures)
    passing, paces = {}, {}
    for round_id, both in halves.items():
        if len(both) < 2:
            continue
        (early, early_passed, early_fast, early_median) = both[False]
        (late, late_passed, late_fast, late_median) = both[True]
        passing[round_id] = Halves(early, early_passed, late, late_passed)
        paces[round_id] = Pace(early_median, late_median, Halves(early, early_fast, late, late_fast))
    return passing, paces
