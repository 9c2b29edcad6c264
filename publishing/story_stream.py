"""Stories of a study with their counted votes, streamed from the database. No writes.

One statement joins everything and the server sends the rows as it finds them, so that it keeps working while
they are used here; with a cursor each side would wait for the other. The votes on a story arrive as one JSON
text, and the answers of a vote as one string in it, because a few texts to parse are cheaper than millions to
fetch.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing
from datetime import datetime
from functools import lru_cache
from typing import Any

import orjson
import psycopg
from django.contrib.postgres.aggregates import StringAgg
from django.db import connection
from django.db.models import (
    BigIntegerField,
    Case,
    CharField,
    F,
    Func,
    OuterRef,
    QuerySet,
    Subquery,
    Value,
    When,
)
from django.db.models.functions import Collate

from annotation.importing.rows import IMPORTED
from annotation.models import Adjudication, Answer, Skip, Story, Study, Vote
from annotation.protocols import stated_by
from annotation.protocols.base import Choice, field_name
from publishing.files import jsonl
from publishing.files.identifiers import without_identifiers
from publishing.files.rows import (
    NO_DECISIONS,
    Against,
    CountedVote,
    Decision,
    Decisions,
    JudgedStory,
    ReleasedStory,
    Row,
)

_ANSWERS, _PARTS = ",", "|"
"""Separators between the answers of a vote and the parts of an answer, which no protocol's key contains."""
_COUNTS_AGAINST = "!"
_AT_ONCE = 256
"""Stories that are fetched at once."""
_REMEMBERED = 4096
"""Cached combinations of answers; most votes repeat a few."""
_AS_TIMESTAMP = """to_char(%(expressions)s AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')"""
"""SQL that formats a moment like :func:`publishing.files.jsonl.timestamp`."""
_MICROSECONDS = "(date_part('epoch', %(expressions)s) * 1000000)::bigint"

_STORY_COLUMNS = ("pk", "text_hash", *IMPORTED)

_STATEMENT = """
SELECT story.*, judged.votes
FROM ({stories}) AS story (pk, text_hash, story_id, {others})
LEFT JOIN (
    SELECT story, string_agg(
        concat('["', annotator, '","', given, '","', submitted, '",', took, ',', place, ',',
               coalesce(starts::text, 'null'), ',', coalesce(options::text, 'null'), ',"', language, '",',
               coalesce(shown, 0), ',', coalesce(to_json(words)::text, '""'), ']'),
        ',')
    FROM ({votes}) AS vote
         (story, annotator, given, submitted, took, place, starts, options, language, shown, words)
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
    # The texts of a theory-of-mind story hold no numbers; orjson would round those beyond 64 bits.
    is_text = stated_by(study.protocol_name).layout == "theory-of-mind"
    read = _Reader(_decisions(study, until), versions, orjson.loads if is_text else json.loads)
    with closing(_rows(study, until)) as rows:
        yield from map(read.story, rows)


def _decisions(study: Study, until: datetime | None) -> dict[str, dict[str, Decision]]:
    """Return the newest decision about each story or label that an expert decided, by the story's id."""
    made = Adjudication.objects.filter(story__study=study)
    found: defaultdict[str, dict[str, Decision]] = defaultdict(dict)
    rows = (made.filter(at__lte=until) if until else made).order_by("pk")
    values = rows.values_list("story__story_id", "question", "row", "verdict", "reason", "at")
    for story_id, question, row, verdict, reason, at in values.iterator():
        found[story_id][field_name(question, row)] = Decision(verdict, reason, at)
    return found


def _rows(study: Study, until: datetime | None) -> Generator[tuple[Any, ...]]:
    stories, story_values = (
        Story.objects.filter(study=study).main().order_by().values_list(*_STORY_COLUMNS)
    ).query.sql_with_params()
    votes, vote_values = _counted_votes(study, until).query.sql_with_params()
    statement = _STATEMENT.format(stories=stories, votes=votes, others=", ".join(_STORY_COLUMNS[3:]))
    connection.ensure_connection()
    with connection.wrap_database_errors:
        cursor = psycopg.ClientCursor(connection.connection)
        yield from cursor.stream(statement, (*story_values, *vote_values), size=_AT_ONCE)


def skip_rows(study: Study, *, until: datetime | None = None) -> Iterator[Row]:
    """Yield the rows of the file of skips, in order of story and time."""
    skips = Skip.objects.reported(study).select_related("assignment__story", "assignment__enrollment")
    for skip in (skips.filter(skipped_at__lte=until) if until else skips).order_by(
        Collate("assignment__story__story_id", "C"), "skipped_at", "assignment__enrollment__pseudonym"
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
    """Select what a release tells of each vote; moments as it tells them, durations in microseconds."""
    mark = Case(When(counts_against=True, then=Value(_COUNTS_AGAINST)), default=Value(""))
    answer = Func(
        Value(_PARTS), "question", "row", "option", mark, function="concat_ws", output_field=CharField()
    )
    answers = Answer.objects.filter(vote=OuterRef("pk")).order_by().values("vote")
    counted = Vote.objects.of_study(study).counted()
    rows: QuerySet[Any, Any] = (
        (counted.filter(submitted_at__lte=until) if until else counted)
        .annotate(
            given=Subquery(answers.annotate(given=StringAgg(answer, _ANSWERS)).values("given")),
            submitted=Func("submitted_at", template=_AS_TIMESTAMP, output_field=CharField()),
            took=Func(
                F("first_submitted_at") - F("served_at"),
                template=_MICROSECONDS,
                output_field=BigIntegerField(),
            ),
        )
        .order_by()
        .values_list(
            "assignment__story",
            "assignment__enrollment__pseudonym",
            "given",
            "submitted",
            "took",
            "order_position",
            "order_seed",
            "option_seed",
            "language",
            "instructions_id",
            "comment__words",
        )
    )
    return rows


class _Reader:
    """Converts rows of the statement to values."""

    def __init__(
        self, decisions: Mapping[str, Decisions], versions: Mapping[int, int], parse: Callable[[str], Any]
    ) -> None:
        self._decisions = decisions
        self._parse = parse
        self._versions = {0: 0, **versions}
        self._answers = lru_cache(maxsize=_REMEMBERED)(_answers)

    def story(self, row: tuple[Any, ...]) -> JudgedStory:
        """Return the story in a row, with its votes."""
        _, text_hash, story_id, core_id, scenario, prompt, severity, model, content, harm, wrong, given = row
        story = ReleasedStory(
            story_id,
            core_id,
            scenario,
            prompt or None,
            severity,
            model,
            self._parse(content),
            _ratings(harm),
            _ratings(wrong),
            text_hash,
        )
        votes, against = [], frozenset[Choice]()
        # Named one by one: a list of the rest for each vote costs a quarter of the whole.
        rows = orjson.loads(f"[{given or ''}]")
        for name, chosen, at, took, place, order, options, language, shown, words in rows:
            answers, counting = self._answers(chosen)
            seconds, version = took / 1_000_000, self._versions[shown]
            comment = without_identifiers(words) if words else ""
            votes.append(
                CountedVote(name, answers, at, seconds, place, order, options, language, version, comment)
            )
            if counting:
                against |= counting
        return JudgedStory(story, tuple(votes), against, self._decisions.get(story_id, NO_DECISIONS))


def _ratings(text: str) -> list[Any]:
    found: list[Any] = [] if text == "[]" else json.loads(text)
    return found


def _answers(text: str) -> tuple[tuple[Choice, ...], Against]:
    """Return the choices of a vote in a fixed order, and those that count against the story."""
    parts = sorted(answer.split(_PARTS) for answer in text.split(_ANSWERS) if answer)
    answers = tuple(Choice(*choice) for *choice, _ in parts)
    return answers, frozenset(Choice(*choice) for *choice, mark in parts if mark == _COUNTS_AGAINST)
