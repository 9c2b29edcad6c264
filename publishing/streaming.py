"""Stories of a study with their counted votes, streamed from the database. No writes.

One statement joins everything and ``COPY`` sends the rows, so that the server keeps working while they are
used here; with a cursor each side would wait for the other. The votes on a story, and the answers of a vote,
arrive as one text each, because a few rows to parse are cheaper than millions to fetch.
"""

import json
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

import psycopg
from django.contrib.postgres.aggregates import StringAgg
from django.db import connection
from django.db.models import BigIntegerField, Case, CharField, F, Func, Q, QuerySet, Value, When
from django.db.models.expressions import Combinable
from django.db.models.functions import Cast, Coalesce, Collate, Concat

from annotation.importing.rows import IMPORTED
from annotation.models import Adjudication, Skip, Story, Study, Vote
from annotation.protocols.base import Choice
from publishing.files import jsonl
from publishing.files.identifiers import without_identifiers
from publishing.files.rows import Against, CountedVote, Decision, JudgedStory, ReleasedStory, Row

_VOTES, _FACTS, _ANSWERS, _PARTS = ";", " ", ",", "|"
"""Separators between votes, the facts of a vote, its answers, and the parts of an answer.

They cannot occur in a protocol's keys (KEY_PATTERN), a language or a number.
"""
_AS_HEX = "encode(convert_to(%(expressions)s, 'UTF8'), 'hex')"
_COUNTS_AGAINST = "!"
_REMEMBERED = 4096
"""Cached combinations of answers; most votes repeat a few."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_STORY_COLUMNS = ("pk", *IMPORTED)

_STATEMENT = """
SELECT story.*, judged.votes
FROM ({stories}) AS story (pk, story_id, {others})
LEFT JOIN (
    SELECT story, string_agg(
        concat_ws(%s, annotator, submitted, took, language, position, starts, options, shown, comment, given),
        %s ORDER BY pk)
    FROM ({votes}) AS vote
         (story, pk, annotator, submitted, took, language, position, starts, options, shown, comment, given)
    GROUP BY story
) AS judged (story, votes) ON judged.story = story.pk
ORDER BY story.story_id COLLATE "C"
"""


def judged_stories(study: Study, *, until: datetime | None = None) -> Generator[JudgedStory]:
    """Yield the study's main stories by id (in byte order), each with its counted votes.

    ``until`` leaves out votes submitted later, which people may still change. The connection is busy until
    the stream has ended or been closed; if closed early, the transaction can only be rolled back. Raise
    database errors as Django does.
    """
    versions = dict(study.instruction_texts.values_list("pk", "version"))
    read = _Reader(_decisions(study, until), versions)
    with closing(_rows(study, until)) as rows:
        for row in rows:
            yield read.story(row)


def _decisions(study: Study, until: datetime | None) -> dict[str, Decision]:
    """Return the newest decision about each story that an expert decided, by the story's id."""
    made = Adjudication.objects.filter(story__study=study)
    rows = (made.filter(at__lte=until) if until else made).order_by("pk")
    found = rows.values_list("story__story_id", "verdict", "reason", "at")
    return {story_id: Decision(verdict, reason, at) for story_id, verdict, reason, at in found}


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


def skip_rows(study: Study, *, until: datetime | None = None) -> Iterator[Row]:
    """Yield the rows of the file of skips, in order of story and time."""
    skips = Skip.objects.reported(study).select_related("assignment__story", "assignment__enrollment")
    for skip in (skips.filter(skipped_at__lte=until) if until else skips).order_by(
        Collate("assignment__story__story_id", "C"),
        "skipped_at",
        "assignment__enrollment__pseudonym",
    ):
        assignment = skip.assignment
        yield {
            "story_id": assignment.story.story_id,
            "annotator": assignment.enrollment.pseudonym,
            "reason": skip.reason,
            "words": without_identifiers(skip.words),
            "skipped_at": jsonl.timestamp(skip.skipped_at),
            "seconds_on_task": round((skip.skipped_at - assignment.served_at).total_seconds(), 3),
            "position": assignment.order_position,
        }


def _counted_votes(study: Study, until: datetime | None) -> QuerySet[Any, Any]:
    """Select per vote: story, vote, annotator, submitted and time taken (microseconds), language, answers."""
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
            starts=_seed("order_seed"),
            options=_seed("option_seed"),
            shown=_seed("instructions_id"),
            words=Coalesce(Func("comment__words", template=_AS_HEX, output_field=CharField()), Value("")),
        )
        .order_by()
        .values_list(
            "assignment__story",
            "pk",
            "assignment__enrollment__pseudonym",
            "submitted",
            "took",
            "language",
            "order_position",
            "starts",
            "options",
            "shown",
            "words",
            "given",
        )
    )
    return rows


def _seed(name: str) -> Coalesce:
    return Coalesce(Cast(name, CharField()), Value(""))


def _microseconds(moment: Combinable) -> Func:
    """Convert a moment (since 1970) or a duration to microseconds, exactly."""
    template = "(EXTRACT(EPOCH FROM %(expressions)s) * 1000000)::bigint"
    return Func(moment, template=template, output_field=BigIntegerField())


class _Reader:
    """Converts the rows of COPY to values."""

    def __init__(self, decisions: Mapping[str, Decision], versions: Mapping[int, int]) -> None:
        self._decisions = decisions
        self._versions = versions
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
        decision = self._decisions.get(story_id)
        if given is None:
            return JudgedStory(story, (), frozenset(), decision)
        votes, against = [], frozenset[Choice]()
        for text in given.split(_VOTES):
            vote, counting = self._vote(text)
            votes.append(vote)
            against |= counting
        return JudgedStory(story, tuple(votes), against, decision)

    def _vote(self, text: str) -> tuple[CountedVote, Against]:
        facts = text.split(_FACTS)
        annotator, submitted, took, language, position, starts, options, shown, comment, given = facts
        answers, against = self._answers(given)
        vote = CountedVote(
            annotator,
            answers,
            _EPOCH + timedelta(microseconds=int(submitted)),
            int(took) / 1_000_000,
            language,
            int(position),
            int(starts) if starts else None,
            int(options) if options else None,
            self._versions[int(shown)] if shown else 0,
            without_identifiers(bytes.fromhex(comment).decode()) if comment else "",
        )
        return vote, against


def _answers(text: str) -> tuple[tuple[Choice, ...], Against]:
    """Return the choices of a vote in a fixed order, and those that count against the story."""
    parts = sorted(answer.split(_PARTS) for answer in text.split(_ANSWERS) if answer)
    answers = tuple(Choice(question, row, option) for question, row, option, _ in parts)
    marks = [mark for *_, mark in parts]
    against = (choice for choice, mark in zip(answers, marks, strict=True) if mark == _COUNTS_AGAINST)
    return answers, frozenset(against)
