"""Comparisons of the filters on a study's votes: made by a worker, kept for a while, made again on demand.

They are figures, not facts: nothing is published by them, and losing one costs a minute of work. So they
stand in the shared cache and in no table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from operator import itemgetter
from typing import Any

from django.contrib.postgres.aggregates import ArrayAgg
from django.core.cache import caches
from django.db.models import Q, Value

from annotation.models import Study, Vote
from publishing.comparing import Comparison
from publishing.errors import TooManyVotes
from publishing.queries import CHUNK, snapshot
from tomannot.celery import app

COMPARE_TASK = "publishing.tasks.compare_filters"
KEPT_FOR = timedelta(days=7)
LONGEST = timedelta(minutes=30)
"""After so long without a result, a comparison is taken for lost and may be asked for again."""


@dataclass(frozen=True, slots=True)
class Compared:
    """A comparison that is there: when it was made, and what :meth:`Comparison.document` says.

    ``failure`` says instead why there is none.
    """

    made_at: datetime
    document: dict[str, Any] | None
    failure: str = ""


def latest(study: Study) -> Compared | None:
    """The newest comparison of this study; None when there is none."""
    found: Compared | None = caches["shared"].get(_result_key(study.pk))
    return found


def is_underway(study: Study) -> bool:
    """Whether a comparison has been asked for and is not there yet."""
    return caches["shared"].get(_underway_key(study.pk)) is not None


def ask(study: Study) -> None:
    """Have a worker compare the filters, unless that is underway."""
    if caches["shared"].add(_underway_key(study.pk), True, LONGEST.total_seconds()):
        app.send_task(COMPARE_TASK, args=[study.pk])


def make(study_id: int, *, now: datetime) -> Compared:
    """Compare the filters on the complete stories of a study, and keep the result.

    Must not run inside a transaction: the votes are streamed from one snapshot.
    """
    study = Study.objects.get(pk=study_id)
    comparison = Comparison(study.votes_per_story)
    try:
        with snapshot():
            for votes in complete_stories(study):
                comparison.see(votes)
        made = Compared(now, comparison.document())
    except TooManyVotes as error:
        made = Compared(now, None, str(error))
    caches["shared"].set(_result_key(study_id), made, KEPT_FOR.total_seconds())
    caches["shared"].delete(_underway_key(study_id))
    return made


def complete_stories(study: Study) -> Iterator[list[tuple[int, frozenset[str]]]]:
    """Per complete main story its counted votes: who gave each, and the questions it objects to; a stream."""
    for story, rows in groupby(_objections(study), key=itemgetter(0)):
        votes = [(person, frozenset(against)) for _, person, against in rows]
        if len(votes) > study.votes_per_story:
            raise TooManyVotes(
                f"The story with the id {story} has {len(votes)} counted votes where the study asks for "
                f"{study.votes_per_story}. Run manage.py check_integrity to see which."
            )
        if len(votes) == study.votes_per_story:
            yield votes


def _objections(study: Study) -> Iterable[tuple[Any, ...]]:
    """(story, annotator, questions with an answer against the story) per counted vote, by story."""
    against = ArrayAgg(
        "answers__question", distinct=True, filter=Q(answers__counts_against=True), default=Value([])
    )
    votes = (
        Vote.objects.of_study(study)
        .counted()
        .annotate(against=against)
        .order_by("assignment__story", "assignment__enrollment__annotator")
        .values_list("assignment__story", "assignment__enrollment__annotator", "against")
    )
    iterator: Iterable[tuple[Any, ...]] = votes.iterator(chunk_size=CHUNK)
    return iterator


def _result_key(study_id: int) -> str:
    return f"filters:{study_id}"


def _underway_key(study_id: int) -> str:
    return f"filters:{study_id}:underway"
