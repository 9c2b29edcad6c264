"""Compare the Parquet copies with the JSON Lines files: rows, order and types."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from publishing.files.features import Type
from publishing.files.parquet import batches, parquet_path, schema_of
from publishing.verification.findings import Findings

CHECK = "parquet"
_WRITTEN_BY = re.compile(r"parquet-cpp-arrow version [0-9.]+(-SNAPSHOT)?")


def check(directory: Path, path: str, columns: Mapping[str, Type], findings: Findings) -> None:
    """Compare the copy of the file at ``path`` row by row, one batch at a time."""
    copy = parquet_path(path)
    try:
        with pq.ParquetFile(directory / copy) as file:
            schema = file.schema_arrow
            expected = schema_of(columns)
            if not schema.equals(expected) or _noted(schema) != _noted(expected):
                findings.add(CHECK, copy, _other_types(schema, expected))
                return
            if problem := _other_metadata(file):
                findings.add(CHECK, copy, problem)
            row = _first_difference(batches(directory / path, expected), _rows(file))
    except FileNotFoundError:
        findings.add(CHECK, copy, "The file is missing.")
    except (pa.ArrowException, OSError) as error:
        findings.add(CHECK, copy, f"It cannot be compared with {path}: {str(error)[:300]}.")
    else:
        if row:
            findings.add(CHECK, copy, f"Row {row} is not that of {path}.", row)


def _other_metadata(file: pq.ParquetFile) -> str:
    """Return what is wrong with the metadata: a copy states only which library wrote it."""
    if odd := sorted((file.metadata.metadata or {}).keys() - {b"ARROW:schema"}):
        return f"The metadata have {len(odd)} entries that no copy has."
    if not _WRITTEN_BY.fullmatch(file.metadata.created_by or ""):
        return "The metadata do not name the writer as copies do."
    return ""


def _noted(schema: pa.Schema) -> list[object]:
    """Return the metadata of a schema and of every nested field."""
    fields = list(schema)
    noted: list[object] = [schema.metadata]
    while fields:
        field = fields.pop()
        noted.append(field.metadata)
        fields += [field.type.field(place) for place in range(field.type.num_fields)]
    return noted


def _other_types(found: pa.Schema, expected: pa.Schema) -> str:
    if found.equals(expected):
        return "The metadata of the schema are not those of a copy."
    if found.names != expected.names:
        return f"The columns are {', '.join(found.names)}; they should be {', '.join(expected.names)}."
    odd = [name for name in expected.names if not found.field(name).equals(expected.field(name))]
    return f"The types of {', '.join(odd)} do not fit the rows."


def _first_difference(left: Iterator[pa.RecordBatch], right: Iterator[pa.RecordBatch]) -> int:
    """Return the number (from 1) of the first differing row, or 0. Batches may have any size."""
    seen = 0
    one, other = _next(left), _next(right)
    while one is not None and other is not None:
        rows = min(one.num_rows, other.num_rows)
        a, b = one.slice(0, rows), other.slice(0, rows)
        if not a.equals(b):
            return seen + 1 + next(at for at in range(rows) if not a.slice(at, 1).equals(b.slice(at, 1)))
        seen += rows
        one = one.slice(rows) if one.num_rows > rows else _next(left)
        other = other.slice(rows) if other.num_rows > rows else _next(right)
    return 0 if one is None and other is None else seen + 1


def _rows(file: pq.ParquetFile) -> Iterator[pa.RecordBatch]:
    """Yield one row group at a time: reading the whole file would hold several."""
    for group in range(file.num_row_groups):
        yield from file.read_row_group(group, use_threads=False).to_batches()


def _next(found: Iterator[pa.RecordBatch]) -> pa.RecordBatch | None:
    return next((batch for batch in found if batch.num_rows), None)
