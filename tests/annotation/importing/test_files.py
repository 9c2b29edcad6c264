"""From bytes to rows: every kind of file is read or refused with the place and the remedy."""

from __future__ import annotations

import gzip
import io
import json
import os
import resource
import zipfile
from pathlib import Path

import pytest

from annotation.importing.files import read_rows
from annotation.importing.rows import Problem, SourceRow

Outcome = SourceRow | Problem


def outcomes(tmp_path: Path, content: bytes, name: str = "stories.jsonl") -> list[Outcome]:
    path = tmp_path / "upload"
    path.write_bytes(content)
    return list(read_rows(path, name=name))


def only_problem(found: list[Outcome]) -> Problem:
    problems = [outcome for outcome in found if isinstance(outcome, Problem)]
    assert len(problems) == 1, [str(problem) for problem in problems]
    return problems[0]


def rows(found: list[Outcome]) -> list[SourceRow]:
    return [outcome for outcome in found if isinstance(outcome, SourceRow)]


# What is read


def test_a_file_that_starts_with_a_brace_is_json_lines_whatever_its_name(
    subtests: pytest.Subtests, tmp_path: Path
) -> None:
    for name in ["a.jsonl", "a.json", "a.ndjson", "a.JSONL", "a", "a.txt", "a.csv"]:
        with subtests.test(name):
            found = outcomes(tmp_path, b'{"a": 1}\n\n  {"a": [2, {"b": "\xc3\xa9"}]}\r\n', name)
            assert found == [SourceRow(name, 1, {"a": 1}), SourceRow(name, 3, {"a": [2, {"b": "é"}]})]


def test_csv_rows_carry_the_line_they_start_on_and_the_line_of_the_header(
    subtests: pytest.Subtests, tmp_path: Path
) -> None:
    for name in ["a.csv", "a.CSV", "a", "a.txt"]:
        with subtests.test(name):
            content = b'a, b\r\n1,"two\r\nlines, with ""quotes"""\r\n\r\n3,4'
            assert outcomes(tmp_path, content, name) == [
                SourceRow(name, 2, {"a": "1", "b": 'two\r\nlines, with "quotes"'}, 1),
                SourceRow(name, 5, {"a": "3", "b": "4"}, 1),
            ]


def test_a_line_without_its_line_end_is_a_line(tmp_path: Path) -> None:
    assert outcomes(tmp_path, b'{"a": 1}') == [SourceRow("stories.jsonl", 1, {"a": 1})]


def test_characters_of_every_language_pass(tmp_path: Path) -> None:
    text = "naïve Ωμέγα 見る 👩‍👩‍👧 עברית\u200f"
    found = outcomes(tmp_path, json.dumps({"a": text}, ensure_ascii=False).encode())
    assert rows(found)[0].data == {"a": text}


# What is refused as a whole, by what it is


def _zip() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("xl/workbook.xml", "<workbook/>")
    return out.getvalue()


FOREIGN = {
    "gzip": (gzip.compress(b'{"a": 1}\n'), "gzip", "gunzip"),
    "excel": (_zip(), "Excel workbook", "CSV"),
    "old-excel": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(99), "old Excel", "CSV"),
    "parquet": (b"PAR1" + bytes(99), "Parquet", "read_parquet"),
    "arrow": (b"ARROW1\x00\x00" + bytes(99), "Arrow", "to_json"),
    "bzip2": (b"BZh91AY&SY", "bzip2", "bunzip2"),
    "xz": (b"\xfd7zXZ\x00\x00", "xz", "unxz"),
    "zstd": (b"\x28\xb5\x2f\xfd\x04", "zstd", "unzstd"),
    "sqlite": (b"SQLite format 3\x00" + bytes(99), "SQLite", "CSV"),
    "pdf": (b"%PDF-1.7\n", "PDF", "Give the table"),
    "lfs-pointer": (b"version https://git-lfs.example/spec/v1\noid sha256:1", "LFS", "git lfs pull"),
    "web-page": (b"<!DOCTYPE html><title>404</title>", "web page", "error page"),
    "utf-16-le": ('{"a": 1}\n'.encode("utf-16"), "UTF-16", "UTF-8"),
    "utf-16-be": (b"\xfe\xff" + '{"a": 1}\n'.encode("utf-16-be"), "UTF-16", "UTF-8"),
    "utf-16-without-mark": ('{"a": 1}\n'.encode("utf-16-le"), "UTF-16", "UTF-8"),
    "utf-32": ('{"a": 1}\n'.encode("utf-32"), "UTF-32", "UTF-8"),
    "old-mac-line-ends": (b'{"a": 1}\r{"a": 2}\r', "carriage return", "LF or CRLF"),
    "json-list": (b'[\n{"a": 1}]', "one JSON list", "one object per line"),
    "pretty-json": (b'{\n  "a": 1\n}\n', "several lines", "jq -c"),
    "csv-called-jsonl": (b"story_id,story\nx,y\n", "header of a CSV file", "end in .csv"),
    "empty": (b"", "empty", "written completely"),
    "blank-lines": (b"\n \r\n\t\n", "blank lines", "written completely"),
}


def test_a_file_of_another_kind_is_named_and_the_way_out_told(
    subtests: pytest.Subtests, tmp_path: Path
) -> None:
    for kind in FOREIGN:
        with subtests.test(kind):
            content, what, remedy = FOREIGN[kind]
            found = outcomes(tmp_path, content)
            problem = only_problem(found)
            assert not rows(found)
            assert what in problem.message
            assert remedy in problem.remedy


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv"])
def test_a_byte_order_mark_is_skipped_and_everything_else_checked(tmp_path: Path, name: str) -> None:
    content = b'{"a": "1", "b": "2"}\n{"a": }\n' if name == "a.jsonl" else b"a,b\n1,2\n3\n"
    found = outcomes(tmp_path, b"\xef\xbb\xbf" + content, name)
    assert [row.data for row in rows(found)] == [{"a": "1", "b": "2"}]
    assert only_problem(found).line == (2 if name == "a.jsonl" else 3)


def test_a_missing_file(tmp_path: Path) -> None:
    problem = only_problem(list(read_rows(tmp_path / "no.jsonl", name="no.jsonl")))
    assert (problem.file, "no such file" in problem.message) == ("no.jsonl", True)


def test_a_folder(tmp_path: Path) -> None:
    assert "folder" in only_problem(list(read_rows(tmp_path, name="folder"))).message


def test_a_pipe_is_refused_instead_of_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert "not a regular file" in only_problem(list(read_rows(tmp_path / "pipe", name="pipe"))).message


def test_a_path_that_cannot_be_one() -> None:
    assert "cannot be read" in only_problem(list(read_rows(Path("a\0b"), name="a"))).message


def test_a_file_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Path, *args: object, **kwargs: object) -> None:
        raise PermissionError(13, "Permission denied")

    (tmp_path / "a.jsonl").write_bytes(b"{}")
    monkeypatch.setattr(Path, "open", refuse)
    assert "may not be read" in only_problem(list(read_rows(tmp_path / "a.jsonl", name="a"))).message


# What is refused line by line, while the other lines are read


BROKEN_LINES = {
    "missing-comma": (b'{"a": 1 "b": 2}', 9, "','", "JSON library"),
    "missing-value": (b'{"a": }', 7, "Expecting value", "JSON library"),
    "missing-colon": (b'{"a" 1}', 6, "':'", "JSON library"),
    "trailing-comma": (b'{"a": 1,}', 9, "", "JSON library"),
    "cut-off": (b'{"a": "x", "b"', 15, "ends in the middle", "one line"),
    "open-text": (b'{"a": "x}', 7, "Unterminated string", "JSON library"),
    "unescaped-tab": (b'{"a": "x\ty"}', 9, "control character", "JSON library"),
    "null-byte": (b'{"a": "x\x00y"}', 9, "control character", ""),
    "bad-escape": (b'{"a": "\\x"}', 0, "escape", "JSON library"),
    "two-objects": (b'{"a": 1} {"a": 2}', 10, "Extra data", "a line of its own"),
    "python-dictionary": (b"{'a': 1}", 2, "double quotes", "json.dumps"),
    "nan": (b'{"b": "NaN", "a": NaN}', 0, "NaN is not JSON", "null"),
    "infinity": (b'{"a": -Infinity}', 0, "Infinity is not JSON", "null"),
    "huge-number": (b'{"a": 1e999}', 0, "too large", ""),
    "endless-number": (b'{"a": ' + b"9" * 5000 + b"}", 0, "too many digits", ""),
    "name-given-twice": (b'{"a": {"b": 1, "b": 2}}', 0, "“b” is given twice", "Keep one"),
    "deep": (b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", 0, "nested too deeply", ""),
    "a-list": (b"[1]", 0, "holds a list", "one object"),
    "a-text": (b'"x"', 0, "holds a text", "one object"),
    "a-number": (b"17", 0, "holds a number", "one object"),
    "null": (b"null", 0, "holds null", "one object"),
    "latin-1": (b'{"a": "caf\xe9"}', 11, "0xE9) is not UTF-8", "Windows-1252"),
    "half-a-character": (b'{"\xc3\xa9": "\xe2\x82"}', 8, "0xE2) is not UTF-8", "Save the file as UTF-8"),
    "right-to-left-override": ('{"a": "x\u202ey"}'.encode(), 9, "right-to-left override", "Remove"),
    "isolate": ('{"a": "x\u2066y"}'.encode(), 9, "left-to-right isolate", "Remove"),
    "c1-control": ('{"a": "x\u0085y"}'.encode(), 9, "U+0085", "Remove"),
    "delete": (b'{"a": "x\x7fy"}', 9, "delete", "Remove"),
    "line-separator": ('{"a": "x\u2028y"}'.encode(), 9, "line separator", "Remove"),
    "mark-inside": ('{"a": "x\ufeffy"}'.encode(), 9, "U+FEFF", "Remove"),
    "too-long": (b'{"a": "' + b"x" * (1 << 20) + b'"}', 0, "1,048,58", "one story per line"),
}


def test_a_broken_line_is_placed_and_its_neighbours_are_read(
    subtests: pytest.Subtests, tmp_path: Path
) -> None:
    for kind in BROKEN_LINES:
        with subtests.test(kind):
            line, column, message, remedy = BROKEN_LINES[kind]
            found = outcomes(tmp_path, b'{"a": 1}\n' + line + b'\n{"a": 3}\n')
            problem = only_problem(found)
            assert [row.line for row in rows(found)] == [1, 3]
            assert problem.line == 2
            assert message in problem.message
            assert remedy in problem.remedy
            if column:
                assert problem.column == column


def test_broken_json_on_line_3000_is_found_there_and_every_fault_is_told(tmp_path: Path) -> None:
    lines = [b'{"a": 1}'] * 4000
    lines[2999] = b'{"a": 1'
    lines[3499] = b'{"a": "\xff"}'
    found = outcomes(tmp_path, b"\n".join(lines))
    assert [outcome.line for outcome in found if isinstance(outcome, Problem)] == [3000, 3500]
    assert len(rows(found)) == 3998


def test_the_format_and_why_it_was_chosen_are_told(tmp_path: Path) -> None:
    problem = only_problem(outcomes(tmp_path, b"nonsense\n", "a.jsonl"))
    assert "as its name ends in .jsonl" in problem.message
    problem = only_problem(outcomes(tmp_path, b'{"a": 1}\n{"a": \n', "a.csv"))
    assert "as it starts with “{”" in problem.message


def test_a_line_of_200_megabytes_is_passed_over_in_bounded_memory(tmp_path: Path) -> None:
    path = tmp_path / "big.jsonl"
    with path.open("wb") as file:
        file.write(b'{"a": 1}\n{"a": "')
        for _ in range(200):
            file.write(b"x" * 1_000_000)
        file.write(b'"}\n{"a": 3}\n')
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found = list(read_rows(path, name="big.jsonl"))
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert [row.line for row in rows(found)] == [1, 3]
    assert "200,000,010 bytes" in only_problem(found).message
    assert grown < 20 * 1024  # kibibytes


# CSV


CSV_HEADERS = {
    "one-column": (b"story\nx\n", "a single column", "commas between"),
    "a-name-twice": (b"a,b,a\n1,2,3\n", "two columns “a”", "Remove one"),
    "no-name": (b",a\n0,1\n", "Column 1 has no name", "index=False"),
    "invisible": ("a,b\u202e\n1,2\n".encode(), "invisible", "again"),
    "latin-1": (b"a,\xe9\n1,2\n", "0xE9", "UTF-8"),
    "open-quote": (b'a,"b\n1,2\n', "never closed", "twice"),
    "no-rows": (b"a,b\n\n", "no row", "Add one row"),
}


def test_a_header_that_cannot_be_used_stops_the_reading(subtests: pytest.Subtests, tmp_path: Path) -> None:
    for kind in CSV_HEADERS:
        with subtests.test(kind):
            content, message, remedy = CSV_HEADERS[kind]
            found = outcomes(tmp_path, content, "a.csv")
            problem = only_problem(found)
            assert not rows(found)
            assert message in problem.message
            assert remedy in problem.remedy


SEPARATED = {
    "semicolons": (b'a;b;"c,d"\n1,5;"x;y";3\n', {"a": "1,5", "b": "x;y", "c,d": "3"}),
    "tabs": (b"a\tb\n1,2,3\t;\n", {"a": "1,2,3", "b": ";"}),
    "bars": (b"\na|b\n1|2\n", {"a": "1", "b": "2"}),
    "commas": (b'a,b\n"1;2;3",4\n', {"a": "1;2;3", "b": "4"}),
}


def test_the_header_says_what_separates_the_columns(subtests: pytest.Subtests, tmp_path: Path) -> None:
    for kind in SEPARATED:
        with subtests.test(kind):
            content, cells = SEPARATED[kind]
            assert [row.data for row in rows(outcomes(tmp_path, content, "a.csv"))] == [cells]


CSV_ROWS = {
    "too-few-cells": (b"5", "1 cells; the header has 2", "empty ones too"),
    "too-many-cells": (b"5,6,7", "3 cells; the header has 2", "double quotes"),
    "text-after-quote": (b'"5"x,6', "follows the closing quote", "twice"),
    "carriage-return": (b"5\r6,7", "carriage return", "LF or CRLF"),
    "null-byte": (b"5,x\x00", "U+0000 (null)", "Remove"),
    "control": (b"5,x\x1b[0m", "U+001B", "Remove"),
    "right-to-left-override": ("5,x\u202e".encode(), "right-to-left override", "Remove"),
    "latin-1": (b"5,caf\xe9", "0xE9", "UTF-8"),
    "too-long": (b"5," + b"x" * (1 << 20), "1,048,5", "one story per line"),
}


def test_a_bad_row_is_placed_and_its_neighbours_are_read(subtests: pytest.Subtests, tmp_path: Path) -> None:
    for kind in CSV_ROWS:
        with subtests.test(kind):
            row, message, remedy = CSV_ROWS[kind]
            found = outcomes(tmp_path, b'a,b\n1,"2\n2"\n' + row + b"\n8,9\n", "a.csv")
            problem = only_problem(found)
            assert [outcome.line for outcome in rows(found)] == [2, 5]
            assert problem.line == 4
            assert message in problem.message
            assert remedy in problem.remedy


def test_an_invisible_character_in_a_cell_is_placed_by_its_column(tmp_path: Path) -> None:
    assert only_problem(outcomes(tmp_path, b"a,b\n1,x\x01\n", "a.csv")).field == "b"


@pytest.mark.parametrize(
    "length", [10, 200_000, 3_000_000], ids=["short", "a-cell-too-long", "a-row-too-long"]
)
def test_a_quote_that_is_never_closed_is_placed_where_its_row_starts(tmp_path: Path, length: int) -> None:
    found = outcomes(tmp_path, b'a,b\n1,2\n3,"4\n' + b"5,6\n" * (length // 4), "a.csv")
    problem = only_problem(found)
    assert [row.line for row in rows(found)] == [2]
    assert problem.line == 3
    assert "never closed" in problem.message
