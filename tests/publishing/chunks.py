"""Chunks of stories as the stream from the database gives them, and questions, made of plain values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from operator import attrgetter

import orjson
import pyarrow as pa

from publishing.files.parquet import schema_of
from publishing.files.questions import QuestionSet
from publishing.files.rows import CONTEXT, THEORY_OF_MIND, VOTED_ON, Chunk, CountedVote, JudgedStory, Row
from publishing.totals import COUNTED, Tally

AT_ONCE = 7


def chunks_of(stories: Iterable[JudgedStory]) -> Iterator[Chunk]:
    """The stories in chunks of a few, each with the votes in order of time."""
    stories = iter(stories)
    while chunk := list(islice(stories, AT_ONCE)):
        yield chunk_of(chunk)


def chunk_of(stories: list[JudgedStory]) -> Chunk:
    votes = [
        (judged.story.story_id, vote)
        for judged in stories
        for vote in sorted(judged.votes, key=attrgetter("submitted_at", "annotator"))
    ]
    forms = list(dict.fromkeys(vote.answers for _, vote in votes))
    values = {"story_id": [story_id for story_id, _ in votes]}
    values |= {name: [getattr(vote, name) for _, vote in votes] for name in ("annotator", *CONTEXT)}
    columns = {
        field.name: pa.array(values[field.name], field.type) for field in schema_of(VOTED_ON | CONTEXT)
    }
    form = pa.array([forms.index(vote.answers) for _, vote in votes], pa.int32())
    return Chunk(columns, form, forms, iter(stories), len(stories))


def question_row(question_set: QuestionSet, story_row: Row, *, right_answer_first: bool) -> Row:
    """The question for a row of story-data, the same in its line and in its columns."""
    stories = pa.RecordBatch.from_pylist([story_row], schema_of(THEORY_OF_MIND.story_columns))
    columns, lines = question_set.rows(stories, [right_answer_first])
    row: Row = orjson.loads(lines[0].as_py())
    assert columns.to_pylist() == [row]
    return row


def count_votes(tally: Tally, votes: Sequence[CountedVote]) -> None:
    tally.add_votes(*([getattr(vote, name) for vote in votes] for name in COUNTED))
