"""Parquet copies of JSON Lines files: the same rows in the same order, with declared types.

A column has the type that :mod:`~publishing.files.features` gathered. Parquet cannot express a struct without
fields or values of several types. A column that contains either, at any depth, holds each value as JSON text,
and its field's metadata says so (``encoding: json``). In a struct, absent keys are null, as readers of JSON
Lines with declared features have them.

Equal rows give equal bytes: blocks of the file become row groups at the same places, and nothing about time
or machine is written. pyarrow is imported only when needed, to keep it out of web processes.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from publishing.files import jsonl
from publishing.files.directory import DirectoryWriter
from publishing.files.features import MIXED, UNKNOWN, Type
from publishing.steps import ahead

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

JSON_TEXT = {"encoding": "json"}
"""Metadata of a field whose values are JSON text."""
_BLOCK_BYTES = 8 << 20
"""Size of the JSON in one row group, rounded up to the end of a row."""
_BLOCK_ROWS = 2000
"""Rows per batch if some columns are JSON text."""
_ARROW = {"string": "string", UNKNOWN: "string", "bool": "bool", "int64": "int64", "float64": "double"}


def parquet_path(jsonl_path: str) -> str:
    """Return the path of the Parquet copy: ``parquet/story-data/test.parquet``."""
    return f"parquet/{jsonl_path.removesuffix('.jsonl')}.parquet"


def write_copy(writer: DirectoryWriter, path: str, columns: Mapping[str, Type]) -> None:
    """Add the Parquet copy of the file at ``path``, in bounded memory, compressed with zstd.

    ``columns`` must fit every value. Raise ``pyarrow.ArrowInvalid`` for a row that does not fit, or
    ``OSError``.
    """
    deque(write_blocks(writer, path, columns), maxlen=0)


def write_blocks(writer: DirectoryWriter, path: str, columns: Mapping[str, Type]) -> Iterator[pa.RecordBatch]:
    """Add the Parquet copy like :func:`write_copy`, and yield each block of rows that is in it."""
    schema = schema_of(columns)
    found = ahead(batches(writer.directory / path, schema))
    with _opened(writer, path, schema) as copy, closing(found):
        for batch in found:
            copy.write_batch(batch)
            yield batch


@contextmanager
def _opened(writer: DirectoryWriter, path: str, schema: pa.Schema) -> Iterator[pq.ParquetWriter]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    with writer.open(parquet_path(path)) as file:
        sink = pa.PythonFile(file, mode="w")
        with pq.ParquetWriter(sink, schema, compression="zstd") as copy:
            yield copy


class Twins:
    """A JSON Lines file and its Parquet copy that grow together, from columns.

    The row groups of the copy are those that :func:`write_copy` would make of the file.
    """

    def __init__(self, file: BinaryIO, copy: pq.ParquetWriter) -> None:
        self._file, self._copy = file, copy
        self._pending: list[pa.RecordBatch] = []
        self._begun = self._end = 0
        """Where in the file the row group begins, and where the file ends."""

    @classmethod
    @contextmanager
    def open(cls, writer: DirectoryWriter, path: str, columns: Mapping[str, Type]) -> Iterator[Twins]:
        """Open both files, which are durable when the block ends."""
        with writer.open(path) as file, _opened(writer, path, schema_of(columns)) as copy:
            twins = cls(file, copy)
            yield twins
            twins.finish_group()

    def write(self, rows: pa.RecordBatch | None, lines: pa.Array) -> None:
        """Add these rows, and as ``lines`` their JSON. Without ``rows``, the copy lacks them."""
        _, ends, data = lines.buffers()
        begins = np.frombuffer(ends, np.int32)[lines.offset :][: len(lines) + 1].astype(np.int64)
        self._file.write(memoryview(data)[begins[0] : begins[-1]])
        begins += self._end - begins[0]
        self._end = int(begins[-1])
        while rows is not None and len(rows):
            fit = int(np.searchsorted(begins[:-1], self._begun + _BLOCK_BYTES, side="right"))
            self._pending.append(rows.slice(0, fit))
            rows, begins = rows.slice(fit), begins[fit:]
            if len(rows):
                self._begun = int(begins[0])
                self.finish_group()

    def finish_group(self) -> None:
        """Write the pending rows as a row group, if there are any."""
        import pyarrow as pa

        if self._pending:
            self._copy.write_table(pa.Table.from_batches(self._pending).combine_chunks())
            self._pending.clear()


def schema_of(columns: Mapping[str, Type]) -> pa.Schema:
    """Return the Arrow schema of a copy."""
    import pyarrow as pa

    return pa.schema(
        [
            pa.field(name, pa.string(), metadata=JSON_TEXT) if is_text(kind) else pa.field(name, _arrow(kind))
            for name, kind in columns.items()
        ]
    )


def is_text(kind: Type) -> bool:
    """Return True if values of this type are stored as JSON text."""
    if isinstance(kind, dict):
        return not kind or any(is_text(inner) for inner in kind.values())
    if isinstance(kind, list):
        return is_text(kind[0])
    return kind == MIXED


def _arrow(kind: Type) -> pa.DataType:
    import pyarrow as pa

    if isinstance(kind, dict):
        return pa.struct([pa.field(name, _arrow(inner)) for name, inner in kind.items()])
    if isinstance(kind, list):
        return pa.list_(_arrow(kind[0]))
    return pa.type_for_alias(_ARROW[kind])


def batches(source: Path, schema: pa.Schema) -> Generator[pa.RecordBatch]:
    """Yield the rows of a JSON Lines file in this schema. Raise like :func:`write_copy`."""
    import pyarrow as pa
    import pyarrow.json as pa_json

    texts = [field.name for field in schema if field.metadata]
    with open(source, "rb") as file:
        if texts:
            yield from _batches_with_texts(file, schema, texts)
            return
        parse = pa_json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="error")
        # Not open_json, which reads many blocks ahead.
        while block := file.read(_BLOCK_BYTES):
            block += file.readline()
            read = pa_json.ReadOptions(use_threads=False, block_size=len(block))
            table = pa_json.read_json(pa.BufferReader(block), read_options=read, parse_options=parse)
            yield from table.combine_chunks().to_batches()


def _batches_with_texts(file: BinaryIO, schema: pa.Schema, texts: list[str]) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    while lines := list(islice(file, _BLOCK_ROWS)):
        rows: list[dict[str, Any]] = [json.loads(line) for line in lines]
        for row in rows:
            row.update({name: _text(row[name]) for name in texts if row.get(name) is not None})
        yield pa.RecordBatch.from_pylist(rows, schema=schema)


def _text(value: Any) -> str:
    return jsonl.line(value).decode().rstrip("\n")
