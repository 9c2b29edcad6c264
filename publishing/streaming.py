"""The stories of a study with their counted votes, as one stream out of the database. No writes.

One statement joins everything and ``COPY`` sends its rows, so that the server works on while they are
used here; a cursor would make each side wait for the other. The votes on a story, and the answers of a
vote, come as one text each: few rows, which are cheap to take apart, where millions would be fetched.
"""

from __future__ import annotations

import json
from collections.abc import Generator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

import psycopg
from django.contrib.postgres.aggregates import StringAgg
from django.db import connection
from django.db.models import BigIntegerField, Case, CharField, F, Func, Q, QuerySet, Value, When
from django.db.models.expressions import Combinable
from django.db.models.functions import Concat

from annotation import rules
from annotation.models import Story, Study, Vote
from annotation.protocols.base import Choice
from publishing.files.rows import CountedVote, ReleasedStory
from publishing.passes import Against, JudgedStory

_VOTES, _FACTS, _ANSWERS, _PARTS = ";", " ", ",", "|"
"""Between votes, the facts of a vote, its answers, and the parts of an answer, on their way from SQL.

No key of a protocol can have one of them (KEY_PATTERN), nor a language, nor a number.
"""
_COUNTS_AGAINST = "!"
_REMEMBERED = 4096
"""Combinations of answers that are at hand; most votes repeat one of few."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_STORY_COLUMNS = (
    "pk", "story_id", "core_id", "scenario_name", "story_prompt_example", "severity_original",
    "story_generator_model", "content", "harmfulness_predicted", "unethicality_predicted",
)  # fmt: skip

_STATEMENT = """
SELECT story.*, judged.votes
FROM ({stories}) AS story (pk, story_id, {others})
LEFT JOIN (
    SELECT story, string_agg(concat_ws(%s, annotator, submitted, took, language, given), %s ORDER BY pk)
    FROM ({votes}) AS vote (story, pk, annotator, submitted, took, language, given)
    GROUP BY story
) AS judged (story, votes) ON judged.story = story.pk
ORDER BY story.story_id COLLATE "C"
"""


def judged_stories(study: Study, *, until: datetime | None = None) -> Generator[JudgedStory]:
    """The study's main stories by id (in byte order), each with its counted votes; a stream.

    ``until`` leaves out the votes submitted later: people may still change those. The connection can do
    nothing else before the stream has ended or been closed; closed early, it leaves a transaction that
    can only be rolled back. Raises like Django when the database fails.
    """
    read = _Reader(study)
    with closing(_rows(study, until)) as rows:
        for row in rows:
            yield read.story(row)


def _rows(study: Study, until: datetime | None) -> Generator[tuple[str | None, ...]]:
    stories, story_values = (
        Story.objects.filter(study=study).main().order_by().values_list(*_STORY_COLUMNS)
    ).query.sql_with_params()
    votes, vote_values = _counted_votes(study, until).query.sql_with_params()
    statement = _STATEMENT.format(stories=stories, votes=votes, others=", ".join(_STORY_COLUMNS[2:]))
    connection.ensure_connection()
    with connection.wrap_database_errors:
        writer = psycopg.ClientCursor(connection.connection)  # COPY takes no parameters
        values = (*story_values, _FACTS, _VOTES, *vote_values)
        with connection.connection.cursor() as cursor:
            copying = cursor.copy(writer.mogrify(f"COPY ({statement}) TO STDOUT", values))
            with copying as copy:
                yield from copy.rows()


def _counted_votes(study: Study, until: datetime | None) -> QuerySet[Any, Any]:
    """Per vote: story, vote, annotator, submitted and time taken in microseconds, language, answers."""
    answer = Concat(
        "answers__question",
        Value(_PARTS),
        "answers__row",
        Value(_PARTS),
        "answers__option",
        Value(_PARTS),
        Case(When(answers__counts_against=True, then=Value(_COUNTS_AGAINST)), default=Value("")),
        output_field=CharField(),
    )
    counted = Vote.objects.of_study(study).counted()
    rows: QuerySet[Any, Any] = (
        (counted.filter(submitted_at__lte=until) if until else counted)
        .annotate(
            given=StringAgg(answer, _ANSWERS, filter=Q(answers__isnull=False), default=Value("")),
            submitted=_microseconds(F("submitted_at")),
            took=_microseconds(F("first_submitted_at") - F("served_at")),
        )
        .order_by()
        .values_list(
            "assignment__story",
            "pk",
            "assignment__enrollment__annotator",
            "submitted",
            "took",
            "language",
            "given",
        )
    )
    return rows


def _microseconds(moment: Combinable) -> Func:
    """Since 1970 for a moment, the whole of a duration; exact."""
    template = "(EXTRACT(EPOCH FROM %(expressions)s) * 1000000)::bigint"
    return Func(moment, template=template, output_field=BigIntegerField())


class _Reader:
    """Makes values of the texts of COPY."""

    def __init__(self, study: Study) -> None:
        self._key = study.pseudonym_key
        self._pseudonym = lru_cache(maxsize=None)(self._pseudonym_of)
        self._answers = lru_cache(maxsize=_REMEMBERED)(_answers)

    def story(self, row: tuple[Any, ...]) -> JudgedStory:
        (_, story_id, core_id, scenario_name, prompt, severity, model, content, harm, unethical, given) = row
        story = ReleasedStory(
            story_id,
            core_id,
            scenario_name,
            prompt or None,
            None if severity is None else int(severity),
            model,
            json.loads(content),
            json.loads(harm),
            json.loads(unethical),
        )
        if given is None:
            return JudgedStory(story, (), frozenset())
        votes, against = [], frozenset[Choice]()
        for text in given.split(_VOTES):
            vote, counting = self._vote(text)
            votes.append(vote)
            against |= counting
        return JudgedStory(story, tuple(votes), against)

    def _vote(self, text: str) -> tuple[CountedVote, Against]:
        annotator, submitted, took, language, given = text.split(_FACTS)
        answers, against = self._answers(given)
        vote = CountedVote(
            self._pseudonym(annotator),
            answers,
            _EPOCH + timedelta(microseconds=int(submitted)),
            int(took) / 1_000_000,
            language,
        )
        return vote, against

    def _pseudonym_of(self, annotator: str) -> str:
        return rules.pseudonym(self._key, int(annotator))


def _answers(text: str) -> tuple[tuple[Choice, ...], Against]:
    """The choices of a vote in one fixed order, and those of them that count against the story."""
    parts = sorted(answer.split(_PARTS) for answer in text.split(_ANSWERS) if answer)
    answers = tuple(Choice(question, row, option) for question, row, option, _ in parts)
    marks = [mark for *_, mark in parts]
    against = (choice for choice, mark in zip(answers, marks, strict=True) if mark == _COUNTS_AGAINST)
    return answers, frozenset(against)
