"""Parquet copies hold the rows of their JSON Lines files, whatever is in them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, strategies as st

from publishing.files import jsonl, parquet
from publishing.files.directory import DirectoryWriter
from publishing.files.features import Columns, Type, holds, merged, type_of
from tests.publishing.test_builder import CONFIGS, FILES, build, rows
from tests.publishing.test_croissant import odd_crowd

PATH = "odd/test.jsonl"
ODD_ROWS: list[dict[str, Any]] = [
    {"id": "0012", "text": 'ü \u2028 “x” \\ " \n\t\x1f 𝄞', "n": None, "list": [], "none": None},
    {"id": "", "text": "2026-03-01T09:30:00.250Z", "n": 2, "list": ["a", None], "none": None},
    {"id": "null", "text": "null", "n": 2.5, "list": [""], "none": None},
    {"id": "true", "text": "-1e5", "n": -0.0, "list": [], "none": None},
]


def written(place: Path, rows: list[dict[str, Any]], known: dict[str, Type] | None = None) -> pa.Table:
    """The Parquet copy of these rows."""
    writer, columns = DirectoryWriter(place), Columns(known or {})
    with writer.open(PATH) as file:
        for row in rows:
            file.write(jsonl.line(row))
            columns.add(row)
    parquet.write_copy(writer, PATH, columns.types)
    return pq.read_table(place / parquet.parquet_path(PATH))


def test_a_copy_has_the_rows_of_its_file(tmp_path: Path) -> None:
    table = written(tmp_path / "1", ODD_ROWS)
    assert table.to_pylist() == ODD_ROWS
    assert {field.name: str(field.type) for field in table.schema} == {
        "id": "string",
        "text": "string",
        "n": "double",
        "list": "list<element: string>",
        "none": "string",
    }
    metadata = pq.read_metadata(tmp_path / "1" / parquet.parquet_path(PATH))
    assert metadata.row_group(0).column(0).compression == "ZSTD"


def test_a_struct_has_the_keys_of_all_rows(tmp_path: Path) -> None:
    rows = [{"e": {"Person X": "Mary", "Object Z": "tin"}}, {"e": {"Person X": "Tom", "Action Z": "sew"}}, {}]
    assert written(tmp_path / "1", rows).to_pylist() == [
        {"e": {"Person X": "Mary", "Object Z": "tin", "Action Z": None}},
        {"e": {"Person X": "Tom", "Object Z": None, "Action Z": "sew"}},
        {"e": None},
    ]


def test_what_parquet_cannot_say_is_json_text(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"plain": 1, "mixed": "a", "deep": [{"x": 1}], "empty": {}, "large": 2**70},
        {"plain": 2, "mixed": 3, "deep": [{"x": "ä"}, None], "empty": {}, "large": 1},
        {"plain": 3, "mixed": None, "deep": [], "empty": None, "large": None},
    ]
    table = written(tmp_path / "1", rows)
    texts = [field.name for field in table.schema if field.metadata == {b"encoding": b"json"}]
    assert texts == ["mixed", "deep", "empty", "large"]
    read = [
        {name: json.loads(value) if name in texts and value else value for name, value in row.items()}
        for row in table.to_pylist()
    ]
    assert read == rows


def test_blocks_become_row_groups_and_lose_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "_BLOCK_BYTES", 2000)
    rows = [{"number": number, "text": "ä" * (number % 50)} for number in range(500)]
    first, second = written(tmp_path / "1", rows), written(tmp_path / "2", rows)
    assert first.to_pylist() == second.to_pylist() == rows
    copies = [tmp_path / place / parquet.parquet_path(PATH) for place in ("1", "2")]
    assert pq.read_metadata(copies[0]).num_row_groups > 10
    assert copies[0].read_bytes() == copies[1].read_bytes()


def test_a_row_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    writer = DirectoryWriter(tmp_path / "1")
    writer.write(PATH, b'{"a":"x","b":1}\n')
    with pytest.raises(pa.ArrowInvalid):
        parquet.write_copy(writer, PATH, {"a": "string"})


SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=6,
)


@given(first=VALUES, second=VALUES)
def test_the_fast_check_of_a_type_says_what_merging_says(first: Any, second: Any) -> None:
    kind = type_of(first)
    assert not holds(kind, second) or merged(kind, type_of(second)) == kind
    assert holds(merged(kind, type_of(second)), second)


def test_every_copy_in_a_release(tmp_path: Path) -> None:
    place = tmp_path / "1"
    build(place, odd_crowd())
    for path in (*(f"{config}/test.jsonl" for config in CONFIGS), "annotations/votes.jsonl"):
        written = rows(place, path)
        if path == "story-data/test.jsonl":
            names = dict.fromkeys(name for row in written for name in row["entities"])
            written = [{**row, "entities": {**names, **row["entities"]}} for row in written]
        assert pq.read_table(place / parquet.parquet_path(path)).to_pylist() == written, path
    copies = {str(copy.relative_to(place)) for copy in (place / "parquet").rglob("*.parquet")}
    assert copies == {file for file in FILES if file.startswith("parquet/")}
