"""How people fare in every round: the funnel, and every question about every story, early and late."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from django.core.cache import caches
from django.db import connection
from django.db.models import Count, Q

from annotation.models import Study
from qualification.drift import Halves, Pace, look_at
from qualification.models import Attempt, Round

FEWEST = 10
"""Of fewer attempts it is not said whether a question is too hard."""
HARD = 0.5
"""A question is too hard, or its key too narrow, when even the upper end of the interval is below this."""
KEPT_SECONDS = 24 * 3600
REST = 20
"""Times its own duration that what has to look at every answer rests before it is worked out anew."""
SHAPE = 2
"""Of what is kept; raised when more is read of it, so that nobody meets what an older server left."""
_FIRST_TRIES = """
    SELECT t.id, t.round_id, t.passed,
           extract(epoch FROM t.submitted_at - t.started_at)::float8 AS seconds,
           row_number() OVER (PARTITION BY t.round_id ORDER BY t.submitted_at, t.id) AS place
    FROM qualification_attempt t
    JOIN qualification_round r ON r.id = t.round_id
    JOIN annotation_enrollment e ON e.id = t.enrollment_id
    WHERE r.study_id = %(study)s AND e.environment = %(environment)s AND t.state = 'submitted'
      AND t.number = 1
"""
"""Everybody's first attempt in the study, handed in, in the study's environment: each person is here once."""
_LOOKED_AT = """
    SELECT t.*, t.place > look.number / 2 AS late
    FROM first_tries t
    LEFT JOIN (SELECT * FROM unnest(%(rounds)s::bigint[], %(looks)s::bigint[])) AS look (round_id, number)
        ON look.round_id = t.round_id AND t.place <= look.number
"""
"""The same with the half of the last look that they are in, by when they handed in; none after that look."""

_QUESTIONS = f"""
    WITH first_tries AS ({_FIRST_TRIES}), handed_in AS ({_LOOKED_AT}),
    wrong AS (
        SELECT a.attempt_id, count(*) FILTER (WHERE NOT a.accepted) AS number
        FROM qualification_attemptanswer a JOIN handed_in h ON h.id = a.attempt_id GROUP BY a.attempt_id
    )
    SELECT h.round_id, s.story_id, rs.position, a.question, a.row,
           count(*), count(*) FILTER (WHERE a.accepted),
           count(*) FILTER (WHERE NOT a.accepted AND wrong.number = 1),
           count(*) FILTER (WHERE NOT h.late), count(*) FILTER (WHERE NOT h.late AND a.accepted),
           count(*) FILTER (WHERE h.late), count(*) FILTER (WHERE h.late AND a.accepted)
    FROM qualification_attemptanswer a
    JOIN handed_in h ON h.id = a.attempt_id
    JOIN wrong ON wrong.attempt_id = a.attempt_id
    JOIN qualification_roundstory rs ON rs.id = a.round_story_id
    JOIN annotation_story s ON s.id = rs.story_id
    GROUP BY h.round_id, s.story_id, rs.position, a.question, a.row
"""  # noqa: S608 - a constant of this module
_PACES = f"""
    WITH first_tries AS ({_FIRST_TRIES}), handed_in AS ({_LOOKED_AT}),
    median AS (
        SELECT round_id, percentile_cont(0.5) WITHIN GROUP (ORDER BY seconds) AS seconds
        FROM handed_in WHERE late IS NOT NULL GROUP BY round_id
    )
    SELECT h.round_id, h.late, count(*), count(*) FILTER (WHERE h.passed),
           count(*) FILTER (WHERE h.seconds < median.seconds),
           percentile_cont(0.5) WITHIN GROUP (ORDER BY h.seconds)
    FROM handed_in h JOIN median ON median.round_id = h.round_id
    WHERE h.late IS NOT NULL
    GROUP BY h.round_id, h.late
"""  # noqa: S608 - a constant of this module


@dataclass(frozen=True, slots=True)
class QuestionRate:
    """How many answered this question about this story acceptably in their first attempt, handed in."""

    story_id: str
    position: int
    question: str
    row: str
    attempts: int
    """How many were handed in."""
    accepted: int
    """How many of them were acceptable here."""
    alone: int
    """How many failed by this answer alone."""
    halves: Halves
    """Of those of the last look (``drift.look_at``) alone, the earlier and the later ones."""

    @property
    def share(self) -> float:
        """In 0..1."""
        return self.accepted / self.attempts if self.attempts else 0.0


@dataclass(frozen=True, slots=True)
class RoundRates:
    """A round with how people fare in it. The counts are of people over all their attempts.

    ``passing``, ``pace`` and ``questions`` are of first attempts; ``later_tries`` are the others handed in.
    """

    round: Round
    started: int
    submitted: int
    passed: int
    later_tries: int
    passing: Halves | None
    pace: Pace | None
    questions: list[QuestionRate]

    @property
    def share(self) -> float | None:
        """Of those who handed it in, how many passed, in 0..1; None when nobody has."""
        return self.passed / self.submitted if self.submitted else None


Found = TypeVar("Found")
Figures = tuple[dict[int, list[QuestionRate]], dict[int, Halves], dict[int, Pace]]
"""By the number of the round's row: its questions, how many passed early and late, how long they took."""


def rates_of(study: Study) -> list[RoundRates]:
    """Every round of a study, the newest first. Four queries at most, whatever the number of rounds.

    What has to look at every answer is kept until another attempt is handed in, and a little longer: it
    costs at most a twentieth of a server.
    """
    theirs = Q(attempts__enrollment__environment=study.environment)
    began = theirs & Q(attempts__state__in=[Attempt.State.STARTED, Attempt.State.SUBMITTED])
    submitted = theirs & Q(attempts__state=Attempt.State.SUBMITTED)
    people = {
        name: Count("attempts__enrollment", distinct=True, filter=which)
        for name, which in {
            "started": began,
            "handed_in": submitted,
            "succeeded": submitted & Q(attempts__passed=True),
        }.items()
    }
    people["tries"] = Count("attempts", distinct=True, filter=submitted)
    people["first"] = Count("attempts", distinct=True, filter=submitted & Q(attempts__number=1))
    rounds = Round.objects.filter(study=study).order_by("-number")
    counts = {counted["pk"]: counted for counted in rounds.annotate(**people).values("pk", *people)}
    first = {pk: counted["first"] for pk, counted in counts.items()}
    questions, passing, paces = kept_of(study, "figures", first, lambda: _worked_out(study, first))
    return [
        RoundRates(
            round=round,
            started=counts[round.pk]["started"],
            submitted=counts[round.pk]["handed_in"],
            passed=counts[round.pk]["succeeded"],
            later_tries=counts[round.pk]["tries"] - counts[round.pk]["first"],
            passing=passing.get(round.pk),
            pace=paces.get(round.pk),
            questions=questions.get(round.pk, []),
        )
        for round in rounds
    ]


@dataclass(frozen=True, slots=True)
class _Kept(Generic[Found]):
    """What stands in the cache: of how many attempts per round, when it was made, how long it took."""

    of: dict[int, int]
    made_at: float
    took: float
    figures: Found


def kept_of(study: Study, what: str, handed_in: dict[int, int], work_out: Callable[[], Found]) -> Found:
    """What is asked of so many attempts per round; from the cache where it has been asked of as many, or just
    now. Without the cache it is worked out every time.

    ``what``: its name among all that is kept so about a study.
    """
    key = f"round-{what}:{SHAPE}:{study.pk}:{study.created_at:%Y%m%d%H%M%S%f}:{study.environment}"
    kept: _Kept[Found] | None = caches["shared"].get(key)
    begun = time.time()
    if kept and (kept.of == handed_in or begun < kept.made_at + REST * kept.took):
        return kept.figures
    figures = work_out()
    made_at = time.time()
    caches["shared"].set(key, _Kept(handed_in, made_at, made_at - begun, figures), KEPT_SECONDS)
    return figures


def _worked_out(study: Study, handed_in: dict[int, int]) -> Figures:
    looks = {round_id: look_at(number) for round_id, number in handed_in.items()}
    return (_questions(study, looks), *_paces(study, looks))


def _rows(query: str, study: Study, looks: dict[int, int]) -> list[tuple[Any, ...]]:
    named: dict[str, Any] = {
        "study": study.pk,
        "environment": study.environment,
        "rounds": list(looks),
        "looks": list(looks.values()),
    }
    with connection.cursor() as cursor:
        cursor.execute(query, named)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
        return rows


def _questions(study: Study, looks: dict[int, int]) -> dict[int, list[QuestionRate]]:
    """Per round its questions, in the order in which people meet them."""
    order = {question.key: number for number, question in enumerate(study.protocol.questions)}
    found: defaultdict[int, list[QuestionRate]] = defaultdict(list)
    for round_id, story_id, position, question, row, attempts, accepted, alone, *halves in _rows(
        _QUESTIONS, study, looks
    ):
        found[round_id].append(
            QuestionRate(story_id, position, question, row, attempts, accepted, alone, Halves(*halves))
        )
    for rates in found.values():
        rates.sort(key=lambda rate: (rate.position, order.get(rate.question, 0), rate.row))
    return dict(found)


def _paces(study: Study, looks: dict[int, int]) -> tuple[dict[int, Halves], dict[int, Pace]]:
    """Per round that has been looked at: how many passed in each, and how long they took."""
    halves: defaultdict[int, dict[bool, tuple[Any, ...]]] = defaultdict(dict)
    for round_id, late, *figures in _rows(_PACES, study, looks):
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
