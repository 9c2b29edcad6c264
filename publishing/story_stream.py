"""Stories of a study with their counted votes, streamed from the database. No writes.

One statement joins everything and the server sends the rows as it finds them, so that it keeps working while
they are used here; with a cursor each side would wait for the other. The votes on a story arrive as lines of
one text, and the answers of a vote as one field. The votes on some hundred stories become columns at once, so
that there is no object for each.
"""

from __future__ import annotations

import json
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from datetime import datetime
from functools import lru_cache, partial
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson
import psycopg
from django.contrib.postgres.expressions import ArraySubquery
from django.db import connection
from django.db.models import Case, CharField, Exists, F, FloatField, Func, OuterRef, QuerySet, Value, When
from django.db.models.functions import Collate

from annotation.identifiers import without_identifiers
from annotation.importing.rows import IMPORTED
from annotation.models import Adjudication, Answer, Skip, Story, StoryRevision, Study, Vote, given_in
from annotation.protocols import stated_by
from annotation.protocols.questions import Choice, field_name
from publishing.files import jsonl
from publishing.files.features import Type
from publishing.files.parquet import schema_of
from publishing.files.rows import (
    CACHE_SIZE,
    CONTEXT,
    CONTEXT_KEYS,
    NO_DECISIONS,
    Against,
    Chunk,
    CountedVote,
    Decision,
    Decisions,
    GivenStory,
    GivenVote,
    JudgedStory,
    ReleasedStory,
    Row,
)

if TYPE_CHECKING:
    import pyarrow as pa

_ANSWERS, _PARTS = "\x1e", "\x1f"
"""Separators between the answers of a vote and the parts of an answer, which no key and no words contain."""
_COUNTS_AGAINST = "!"
_FETCHED = 50
"""Stories that are fetched at once: about as many as the server can send without waiting."""
_AT_ONCE = 10 * _FETCHED
"""Stories whose votes become columns together."""
Fetched = tuple[Any, ...]
_AS_TIMESTAMP = """to_char(%(expressions)s AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')"""
"""SQL that formats a moment like :func:`publishing.files.jsonl.timestamp`."""
_SECONDS = "(date_part('epoch', %(expressions)s) * 1000000)::bigint / 1000000::float8"

_STORY_COLUMNS = ("text_hash", *IMPORTED)

_STATEMENT = """
SELECT story.*, coalesce(judged.votes, '')
FROM ({stories}) AS story ({columns}, is_old_version)
LEFT JOIN (
    SELECT story COLLATE "C", string_agg(
        concat(annotator, E'\\t', given, E'\\t', submitted, E'\\t', took, E'\\t', place, E'\\t', starts,
               E'\\t', options, E'\\t', language, E'\\t', coalesce(version, 0), E'\\t',
               to_json(nullif(words, '')), E'\\n'),
        '')
    FROM ({votes}) AS vote
         (story, annotator, given, submitted, took, place, starts, options, language, version, words)
    GROUP BY story COLLATE "C"
) AS judged (story, votes) ON judged.story = story.story_id COLLATE "C"
ORDER BY story.story_id COLLATE "C"
"""
_FIELDS: dict[str, Type] = {"annotator": "string", "given": "string", **CONTEXT}
"""The fields of a line of the statement's votes, with their types."""


def judged_stories(study: Study) -> Generator[JudgedStory]:
    """Yield the study's main stories by id (in byte order), each with its counted votes as values.

    Otherwise like :func:`chunks`.
    """
    with closing(chunks(study)) as found:
        for chunk in found:
            of_all = zip(*(chunk.votes[name].to_pylist() for name in CONTEXT_KEYS), strict=True)
            for judged in chunk.stories:
                counted = tuple([CountedVote(*given[:2], *next(of_all)) for given in judged.votes])
                yield JudgedStory(judged.story, counted, judged.against, judged.decisions)


def chunks(study: Study, *, until: datetime | None = None) -> Generator[Chunk]:
    """Yield the study's main stories by id (in byte order), some hundred at a time.

    ``until`` leaves out votes submitted later, which people may still change, and later revisions. The
    connection is busy until the stream has ended or been closed; if closed early, the transaction can only be
    rolled back. Raise database errors as Django does.
    """
    # The texts of a theory-of-mind story hold no numbers; orjson would round those beyond 64 bits.
    is_text = stated_by(study.protocol_name).layout == "theory-of-mind"
    parse = orjson.loads if is_text else json.loads
    read = _Reader(_decisions(study, until), parse, study.protocol.written)
    with closing(_rows(study, until)) as rows:
        coming = deque(islice(rows, _AT_ONCE))
        while found := coming:
            coming = deque()
            yield read.chunk(found, rows, coming)
            coming.extend(islice(rows, _AT_ONCE - len(coming)))


def _decisions(study: Study, until: datetime | None) -> dict[str, dict[str, Decision]]:
    """Return the newest decision about each story or label that an expert decided, by the story's id."""
    found: defaultdict[str, dict[str, Decision]] = defaultdict(dict)
    standing = Adjudication.objects.filter(story__study=study).standing(until=until).order_by("pk")
    values = standing.values_list("story__story_id", "question", "row", "verdict", "reason", "at")
    for story_id, question, row, verdict, reason, at in values.iterator():
        found[story_id][field_name(question, row)] = Decision(verdict, reason, at)
    return found


def _rows(study: Study, until: datetime | None) -> Generator[Fetched]:
    found = Story.objects.filter(study=study).main().order_by()
    is_old: F | Exists = F("is_old_version")
    if until and study.protocol.revisable:
        later = StoryRevision.objects.filter(after__study=study, at__gt=until)
        found = found.exclude(pk__in=later.values("after"))
        is_old = Exists(StoryRevision.objects.filter(before=OuterRef("pk"), at__lte=until))
    stories, story_values = found.values_list(*_STORY_COLUMNS, is_old).query.sql_with_params()
    votes, vote_values = _counted_votes(study, until).query.sql_with_params()
    statement = _STATEMENT.format(stories=stories, votes=votes, columns=", ".join(_STORY_COLUMNS))
    connection.ensure_connection()
    with connection.wrap_database_errors:
        cursor = psycopg.ClientCursor(connection.connection)
        yield from cursor.stream(statement, (*story_values, *vote_values), size=_FETCHED)


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


def revision_rows(study: Study, *, until: datetime | None = None) -> Iterator[Row]:
    """Yield the rows of the file of revisions, by the id of the new version."""
    made = StoryRevision.objects.filter(before__study=study).select_related("before", "after")
    made = made.filter(at__lte=until) if until else made
    for one in made.order_by(Collate("after__story_id", "C")).iterator(chunk_size=_AT_ONCE):
        changed = one.changed_texts()
        yield {
            "story_id": one.after.story_id,
            "revised_from": one.before.story_id,
            "changed": [*changed],
            "before": [old for old, _ in changed.values()],
            "after": [new for _, new in changed.values()],
            "reason": without_identifiers(one.reason),
            "revised_at": jsonl.timestamp(one.at),
        }


def _counted_votes(study: Study, until: datetime | None) -> QuerySet[Any, Any]:
    """Select what a release tells of each vote; moments as it tells them, durations in seconds."""
    mark = Case(When(counts_against=True, then=Value(_COUNTS_AGAINST)), default=Value(""))
    parts = ("question", Value(_PARTS), "row", Value(_PARTS), given_in(), Value(_PARTS), mark)
    answer = Func(*parts, template="%(expressions)s", arg_joiner=" || ", output_field=CharField())
    answers = Answer.objects.filter(vote=OuterRef("pk")).order_by().values_list(answer)
    counted = Vote.objects.of_study(study).counted()
    rows: QuerySet[Any, Any] = (
        (counted.filter(submitted_at__lte=until) if until else counted)
        .annotate(
            given=Func(
                ArraySubquery(answers), Value(_ANSWERS), function="array_to_string", output_field=CharField()
            ),
            submitted=Func("submitted_at", template=_AS_TIMESTAMP, output_field=CharField()),
            took=Func(F("first_submitted_at") - F("served_at"), template=_SECONDS, output_field=FloatField()),
        )
        .order_by()
        .values_list(
            "assignment__story__story_id",
            "assignment__enrollment__pseudonym",
            "given",
            "submitted",
            "took",
            "order_position",
            "order_seed",
            "option_seed",
            "language",
            "instructions__version",
            "comment__words",
        )
    )
    return rows


class _Reader:
    """Converts rows of the statement to values."""

    def __init__(
        self, decisions: Mapping[str, Decisions], parse: Callable[[str], Any], written: Collection[str]
    ) -> None:
        self._decisions = decisions
        self._parse = parse
        self._answers = lru_cache(maxsize=CACHE_SIZE)(partial(_answers, written))

    def chunk(self, rows: deque[Fetched], later: Iterator[Fetched], coming: deque[Fetched]) -> Chunk:
        """Return the stories in these rows, and their votes.

        While stories are read, their rows are dropped, and ``later`` ones are fetched into ``coming``.
        """
        texts = [row[-1] for row in rows]
        sizes = [text.count("\n") for text in texts]
        columns = _columns("".join(texts), [row[1] for row in rows], sizes)
        given = columns.pop("given").dictionary_encode()
        forms = [self._answers(form) for form in given.dictionary.to_pylist()]
        given_forms = [forms[form] for form in given.indices.to_pylist()]
        form_of = zip(columns["annotator"].to_pylist(), given_forms, strict=True)

        def stories() -> Iterator[GivenStory]:
            for place, size in enumerate(sizes):
                if place % _FETCHED == 0:
                    coming.extend(islice(later, _FETCHED))
                yield self._story(rows.popleft(), list(islice(form_of, size)))

        return Chunk(columns, given.indices, [answers for answers, _ in forms], stories(), len(rows))

    def _story(
        self, row: Fetched, given: Sequence[tuple[str, tuple[tuple[Choice, ...], Against]]]
    ) -> GivenStory:
        text_hash, story_id, core_id, scenario, prompt, severity, model, content, harm, wrong, old, _ = row
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
            old,
        )
        votes = [GivenVote(annotator, answers) for annotator, (answers, _) in given]
        against = [counting for _, (_, counting) in given if counting]
        return GivenStory(
            story, votes, frozenset().union(*against), self._decisions.get(story_id, NO_DECISIONS)
        )


def _columns(lines: str, story_ids: Sequence[str], sizes: Sequence[int]) -> dict[str, pa.Array]:
    """Return the columns of votes, given their lines and the number of each story's, in order of time.

    They are as released, but for ``given``, which is as in the lines, and times that are not rounded yet.
    """
    import pyarrow as pa
    import pyarrow.csv as pa_csv

    schema, data = schema_of(_FIELDS), lines.encode()
    table = schema.empty_table()
    if data:
        table = pa_csv.read_csv(
            pa.BufferReader(data),
            pa_csv.ReadOptions(use_threads=False, block_size=len(data), column_names=schema.names),
            pa_csv.ParseOptions(delimiter="\t", quote_char=False),
            pa_csv.ConvertOptions(column_types=schema, null_values=[""]),
        )
    table = table.append_column("place", pa.array(np.repeat(np.arange(len(sizes)), sizes)))
    in_order = [(name, "ascending") for name in ("place", "submitted_at", "annotator")]
    ordered = table.combine_chunks().sort_by(in_order)
    columns = {name: ordered[name].combine_chunks() for name in ordered.column_names}
    words = [without_identifiers(json.loads(text)) if text else "" for text in columns["comment"].to_pylist()]
    story_of = pa.array(story_ids).take(columns.pop("place"))
    return {**columns, "story_id": story_of, "comment": pa.array(words, pa.string())}


def _ratings(text: str) -> list[Any]:
    found: list[Any] = [] if text == "[]" else json.loads(text)
    return found


def _answers(written: Collection[str], text: str) -> tuple[tuple[Choice, ...], Against]:
    """Return the choices of a vote in a fixed order, and those that count against the story.

    ``written`` are the questions answered in words, from which identifiers of people are removed.
    """
    parts = sorted(answer.split(_PARTS) for answer in text.split(_ANSWERS) if answer)
    answers = tuple(
        Choice(question, row, without_identifiers(given) if question in written else given)
        for question, row, given, _ in parts
    )
    return answers, frozenset(Choice(*choice) for *choice, mark in parts if mark == _COUNTS_AGAINST)
