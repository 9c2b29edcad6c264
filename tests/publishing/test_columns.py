"""JSON Lines made from columns are those made from rows; twins are a file and its copy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings, strategies as st

from publishing.files import jsonl, parquet
from publishing.files.columns import as_json, json_lines, rounded
from publishing.files.directory import DirectoryWriter
from publishing.files.features import Type

KINDS: dict[str, Type] = {"text": "string", "number": "int64", "seconds": "float64"}
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "text": st.text(st.characters(exclude_categories=["Cs"])),
            "number": st.none() | st.integers(-(2**63), 2**63 - 1),
            "seconds": st.integers(0, 10**12).map(lambda thousandths: thousandths / 1000),
        }
    ),
    min_size=1,
)


def lines_of(rows: list[dict[str, Any]]) -> tuple[pa.RecordBatch, pa.Array]:
    batch = pa.RecordBatch.from_pylist(rows, parquet.schema_of(KINDS))
    return batch, json_lines({name: as_json(batch[name]) for name in KINDS})


@settings(max_examples=50)
@given(ROWS)
def test_a_line_from_columns_is_that_from_a_row(rows: list[dict[str, Any]]) -> None:
    _, lines = lines_of(rows)
    assert [line.encode() for line in lines.to_pylist()] == [
        jsonl.line({name: row[name] for name in KINDS}) for row in rows
    ]


@given(st.lists(st.integers(0, 10**10)))
def test_microseconds_are_rounded_as_python_does(microseconds: list[int]) -> None:
    halves = [number - number % 1000 + 500 for number in microseconds]  # those are the hard ones
    seconds = [number / 1_000_000 for number in (*microseconds, *halves)]
    assert rounded(pa.array(seconds, pa.float64())).to_pylist() == [round(one, 3) for one in seconds]


@pytest.mark.parametrize("at_once", [1, 7, 100])
def test_row_groups_are_those_of_a_copy_made_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    """Blocks end behind the first row that begins at a limit or later; some rows here begin exactly at it."""
    rows = [{"text": "x" * (number % 5), "number": number, "seconds": number / 8} for number in range(100)]
    monkeypatch.setattr(parquet, "_BLOCK_BYTES", 2 * len(jsonl.line(rows[10])))
    together, later = DirectoryWriter(tmp_path / "together"), DirectoryWriter(tmp_path / "later")
    with parquet.Twins.open(together, "a.jsonl", KINDS) as twins:
        for start in range(0, len(rows), at_once):
            twins.write(*lines_of(rows[start : start + at_once]))
    later.write("a.jsonl", b"".join(map(jsonl.line, rows)))
    parquet.write_copy(later, "a.jsonl", KINDS)
    found = [(place.directory / parquet.parquet_path("a.jsonl")).read_bytes() for place in (together, later)]
    assert found[0] == found[1]
    assert {*together.files} == {*later.files}
    copy = pq.ParquetFile(tmp_path / "together" / "parquet/a.parquet")
    assert copy.num_row_groups > 20
    lines = (tmp_path / "together/a.jsonl").read_bytes().splitlines()
    assert [json.loads(line) for line in lines] == copy.read().to_pylist()
