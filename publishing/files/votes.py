"""The file of votes and its Parquet copy, written from columns."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache

import orjson

from annotation.protocols.questions import Choice, field_name
from publishing.files.columns import as_json, json_lines, rounded
from publishing.files.directory import DirectoryWriter
from publishing.files.features import Type
from publishing.files.parquet import Twins, parquet_path, schema_of, write_copy
from publishing.files.rows import CACHE_SIZE, CONTEXT, VOTED_ON, VOTES_PATH, Chunk, vote_columns


class VotesFile:
    """Writes votes, with the answers in the order of the questions, and collects their columns.

    Answers to other questions (from an older version of the protocol) come last.
    """

    def __init__(self, twins: Twins, questions: Sequence[str], scales: Collection[str]) -> None:
        self._twins, self._scales = twins, scales
        self._places = {key: place for place, key in enumerate(questions)}
        self.expected = vote_columns(questions, scales)
        self._seen: dict[str, tuple[int, str, str]] = {}
        self._told = lru_cache(maxsize=CACHE_SIZE)(self._ordered)

    @classmethod
    @contextmanager
    def open(
        cls, writer: DirectoryWriter, questions: Sequence[str], scales: Collection[str] = ()
    ) -> "Iterator[VotesFile]":
        """Open the file and its copy, which are durable when the block ends.

        The copy is made again from the file if the fields of the answers are not the questions themselves.
        """
        with Twins.open(writer, VOTES_PATH, vote_columns(questions, scales)) as twins:
            votes = cls(twins, questions, scales)
            yield votes
        if votes.columns() != votes.expected:
            writer.discard(parquet_path(VOTES_PATH))
            write_copy(writer, VOTES_PATH, votes.columns())

    def write(self, chunk: Chunk) -> None:
        import pyarrow as pa

        if not len(chunk.form):
            return
        columns = {**chunk.votes, "seconds_on_task": rounded(chunk.votes["seconds_on_task"])}
        told = [self._told(answers) for answers in chunk.forms]
        written = [f",{orjson.dumps(answers)[1:-1].decode()}" if answers else "" for answers in told]
        texts = {name: as_json(columns[name]) for name in VOTED_ON | CONTEXT}
        texts["annotator"] += [pa.array(written, pa.string()).take(chunk.form)]
        rows = None
        if all(answers.keys() <= self.expected.keys() for answers in told):
            schema = schema_of(self.expected)
            for field in schema:
                if field.name not in columns:
                    options = pa.array([answers.get(field.name) for answers in told], field.type)
                    columns[field.name] = options.take(chunk.form)
            rows = pa.RecordBatch.from_arrays([columns[name] for name in schema.names], schema=schema)
        self._twins.write(rows, json_lines(texts))

    def columns(self) -> dict[str, Type]:
        """Return the columns of the rows so far, in order."""
        return vote_columns(sorted(self._seen, key=self._seen.__getitem__), self._scales)

    def _ordered(self, answers: tuple[Choice, ...]) -> dict[str, str | int]:
        last = len(self._places)
        placed = sorted(
            ((self._places.get(choice.question, last), choice.question, choice.row), choice.option)
            for choice in answers
        )
        fields = {field_name(place[1], place[2]): (place, option) for place, option in placed}
        self._seen |= {field: place for field, (place, _) in fields.items()}
        return {
            field: int(option) if place[1] in self._scales else option
            for field, (place, option) in fields.items()
        }
