"""How people fare in every round: the funnel, and every question about every story, early and late."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from django.core.cache import caches
from django.db import connection
from django.db.models import Count, Q

from annotation.models import Study
from qualification.drift import Halves, Pace
from qualification.models import Attempt, Round

KEPT_SECONDS = 24 * 3600
_HANDED_IN = """
    SELECT t.id, t.round_id, t.passed,
           extract(epoch FROM t.submitted_at - t.started_at)::float8 AS seconds,
           row_number() OVER (PARTITION BY t.round_id ORDER BY t.started_at, t.id)
               > count(*) OVER (PARTITION BY t.round_id) / 2 AS late
    FROM qualification_attempt t
    JOIN qualification_round r ON r.id = t.round_id
    JOIN annotation_enrollment e ON e.id = t.enrollment_id
    WHERE r.study_id = %(study)s AND e.environment = %(environment)s AND t.state = 'submitted'
"""
"""Handed-in attempts in the study's environment; of an odd number the one in the middle is late."""

_QUESTIONS = f"""
    WITH handed_in AS ({_HANDED_IN}),
    wrong AS (
        SELECT a.attempt_id, count(*) FILTER (WHERE NOT a.accepted) AS number
        FROM qualification_attemptanswer a JOIN handed_in h ON h.id = a.attempt_id GROUP BY a.attempt_id
    )
    SELECT h.round_id, s.story_id, rs.position, a.question, a.row,
           count(*) FILTER (WHERE NOT h.late), count(*) FILTER (WHERE NOT h.late AND a.accepted),
           count(*) FILTER (WHERE h.late), count(*) FILTER (WHERE h.late AND a.accepted),
           count(*) FILTER (WHERE NOT a.accepted AND wrong.number = 1)
    FROM qualification_attemptanswer a
    JOIN handed_in h ON h.id = a.attempt_id
    JOIN wrong ON wrong.attempt_id = a.attempt_id
    JOIN qualification_roundstory rs ON rs.id = a.round_story_id
    JOIN annotation_story s ON s.id = rs.story_id
    GROUP BY h.round_id, s.story_id, rs.position, a.question, a.row
"""  # noqa: S608 - a constant of this module
_PACES = f"""
    WITH handed_in AS ({_HANDED_IN}),
    median AS (
        SELECT round_id, percentile_cont(0.5) WITHIN GROUP (ORDER BY seconds) AS seconds
        FROM handed_in GROUP BY round_id
    )
    SELECT h.round_id, h.late, count(*), count(*) FILTER (WHERE h.passed),
           count(*) FILTER (WHERE h.seconds < median.seconds),
           percentile_cont(0.5) WITHIN GROUP (ORDER BY h.seconds)
    FROM handed_in h JOIN median ON median.round_id = h.round_id
    GROUP BY h.round_id, h.late
"""  # noqa: S608 - a constant of this module


@dataclass(frozen=True, slots=True)
class QuestionRate:
    """Of the attempts at a round handed in: how many answered this question about this story acceptably."""

    story_id: str
    position: int
    question: str
    row: str
    halves: Halves
    alone: int
    """How many failed by this answer alone."""

    @property
    def attempts(self) -> int:
        """How many were handed in."""
        return self.halves.early + self.halves.late

    @property
    def accepted(self) -> int:
        """How many of them were acceptable here."""
        return self.halves.early_hits + self.halves.late_hits

    @property
    def share(self) -> float:
        """In 0..1."""
        return self.accepted / self.attempts if self.attempts else 0.0


@dataclass(frozen=True, slots=True)
class RoundRates:
    """A round with how people fare in it. The counts are of people; ``passing`` is of attempts."""

    round: Round
    started: int
    submitted: int
    passed: int
    passing: Halves | None
    pace: Pace | None
    questions: list[QuestionRate]

    @property
    def share(self) -> float | None:
        """Of those who handed it in, how many passed, in 0..1; None when nobody has."""
        return self.passed / self.submitted if self.submitted else None


Figures = tuple[dict[int, list[QuestionRate]], dict[int, Halves], dict[int, Pace]]
"""By the number of the round's row: its questions, how many passed early and late, how long they took."""


def rates_of(study: Study) -> list[RoundRates]:
    """Every round of a study, the newest first. Four queries at most, whatever the number of rounds.

    What has to look at every answer is kept until another attempt is handed in.
    """
    theirs = Q(attempts__enrollment__environment=study.environment)
    submitted = theirs & Q(attempts__state=Attempt.State.SUBMITTED)
    people = {
        name: Count("attempts__enrollment", distinct=True, filter=which)
        for name, which in {
            "started": theirs,
            "handed_in": submitted,
            "succeeded": submitted & Q(attempts__passed=True),
        }.items()
    }
    people["tries"] = Count("attempts", distinct=True, filter=submitted)
    rounds = Round.objects.filter(study=study).order_by("-number")
    counts = {counted["pk"]: counted for counted in rounds.annotate(**people).values("pk", *people)}
    questions, passing, paces = _figures(study, sum(counted["tries"] for counted in counts.values()))
    return [
        RoundRates(
            round=round,
            started=counts[round.pk]["started"],
            submitted=counts[round.pk]["handed_in"],
            passed=counts[round.pk]["succeeded"],
            passing=passing.get(round.pk),
            pace=paces.get(round.pk),
            questions=questions.get(round.pk, []),
        )
        for round in rounds
    ]


def _figures(study: Study, handed_in: int) -> Figures:
    """What is asked of so many attempts handed in; from the cache where it has been asked of as many."""
    key = f"round-figures:{study.pk}:{study.environment}:{handed_in}"
    kept: Figures | None = caches["shared"].get(key)
    if kept is None:
        kept = (_questions(study), *_paces(study))
        caches["shared"].set(key, kept, KEPT_SECONDS)
    return kept


def _rows(query: str, study: Study) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(query, {"study": study.pk, "environment": study.environment})
        rows: list[tuple[Any, ...]] = cursor.fetchall()
        return rows


def _questions(study: Study) -> dict[int, list[QuestionRate]]:
    """Per round its questions, in the order in which people meet them."""
    order = {question.key: number for number, question in enumerate(study.protocol.questions)}
    found: defaultdict[int, list[QuestionRate]] = defaultdict(list)
    for round_id, story_id, position, question, row, *counts, alone in _rows(_QUESTIONS, study):
        found[round_id].append(QuestionRate(story_id, position, question, row, Halves(*counts), alone))
    for rates in found.values():
        rates.sort(key=lambda rate: (rate.position, order.get(rate.question, 0), rate.row))
    return dict(found)


def _paces(study: Study) -> tuple[dict[int, Halves], dict[int, Pace]]:
    """Per round with attempts in both halves: how many passed in each, and how long they took."""
    halves: defaultdict[int, dict[bool, tuple[Any, ...]]] = defaultdict(dict)
    for round_id, late, *figures in _rows(_PACES, study):
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
