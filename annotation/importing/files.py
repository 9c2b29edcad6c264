"""Read a file's bytes as rows, and report everything that is wrong with its format.

Two formats are read: one JSON object per line (``.jsonl``, ``.ndjson``, ``.json``) and CSV with a header
(``.csv``), each with or without a byte-order mark. A file that starts with a brace is one object per line
whatever its name; for other unknown names the content decides. The protocol interprets the rows.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from annotation.importing.csv_files import read_csv
from annotation.importing.jsonl import read_json_lines
from annotation.importing.rows import Problem, SourceRow

_HEAD_BYTES = 64 * 1024
_JSON_SUFFIXES = (".jsonl", ".ndjson", ".json")
_UTF8_MARK = b"\xef\xbb\xbf"


def read_rows(path: Path, *, name: str, headerless: Sequence[str] = ()) -> Iterator[SourceRow | Problem]:
    """Yield the rows of a file, and a :class:`Problem` for everything that cannot be read.

    A stream: memory is bounded by one row. It continues after a bad row, so that all problems are reported
    at once, and stops only where continuing makes no sense (another kind of file, an unusable header, a
    quote that is never closed). ``name`` is the user's name of the file: it decides the format and appears
    in every problem. Refuse the whole file if any problem comes. ``headerless`` are the columns of a CSV file
    whose first line has as many cells and names none of them.
    """
    try:
        if path.exists() and not path.is_file():
            message = "This is a folder, not a file." if path.is_dir() else "This is not a regular file."
            yield Problem(name, 0, "", message, "Give a file with one story per line.")
            return
        with path.open("rb", buffering=256 * 1024) as stream:
            yield from _read(stream, name, headerless)
    except FileNotFoundError:
        yield Problem(name, 0, "", "There is no such file.", "Look at the spelling of the path.")
    except PermissionError:
        yield Problem(name, 0, "", "The file may not be read.", "Give yourself the permission to read it.")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        message = f"The file cannot be read: {reason}."
        yield Problem(name, 0, "", message, "Copy it to a local disk and try again.")


def _read(stream: BinaryIO, name: str, headerless: Sequence[str]) -> Iterator[SourceRow | Problem]:
    head = stream.read(_HEAD_BYTES)
    problem = _foreign(head, name)
    if problem:
        yield problem
        return
    start = len(_UTF8_MARK) if head.startswith(_UTF8_MARK) else 0
    stream.seek(start)
    seen = False
    for row in _read_as(stream, head[start:], name, headerless):
        seen = True
        yield row
    if not seen:
        yield _nothing(head[start:], name)


def _read_as(
    stream: BinaryIO, head: bytes, name: str, headerless: Sequence[str]
) -> Iterator[SourceRow | Problem]:
    """Choose the format, and read. Yield nothing for a file without rows."""
    suffix = Path(name).suffix.lower()
    first = head.lstrip()
    line = first.split(b"\n", 1)[0].rstrip()
    if first.startswith(b"["):
        remedy = "Write one object per line (jq -c '.[]' old.json > new.jsonl)."
        yield Problem(name, 1, "", "The file is one JSON list.", remedy)
    elif line == b"{":
        remedy = "Write each object on one line (jq -c . old.json > new.jsonl)."
        yield Problem(name, 1, "", "The file is JSON with one object over several lines.", remedy)
    elif first.startswith(b"{"):
        yield from read_json_lines(stream, name, "read as one JSON object per line, as it starts with “{”")
    elif suffix in _JSON_SUFFIXES:
        if any(mark in line for mark in b",;\t") and line.translate(None, b",;\t_ ").isalnum():
            message = f"The name ends in {suffix}, but the first line looks like the header of a CSV file."
            yield Problem(name, 1, "", message, "Rename the file to end in .csv.")
        else:
            why = f"read as one JSON object per line, as its name ends in {suffix}"
            yield from read_json_lines(stream, name, why)
    elif suffix == ".csv":
        yield from read_csv(stream, name, "read as CSV, as its name ends in .csv", headerless)
    else:
        yield from read_csv(stream, name, "read as CSV, as it does not start with “{”", headerless)


def _nothing(head: bytes, name: str) -> Problem:
    if not head.strip():
        message = "The file holds only blank lines." if head else "The file is empty."
        return Problem(name, 0, "", message, "Check that it was written completely.")
    return Problem(name, 1, "", "There is a header, but no row.", "Add one row per story.")


_TO_JSON = "to_json(…, orient=“records”, lines=True)"
_KINDS = (
    (b"\x1f\x8b", "a gzip archive", "Unpack it first (gunzip)."),
    (b"PK\x03\x04", "an Excel workbook or another zip archive", "Export the sheet as CSV, or unpack it."),
    (b"\xd0\xcf\x11\xe0", "an old Excel workbook", "Export the sheet as CSV."),
    (b"PAR1", "a Parquet file", f"Convert it: pandas.read_parquet(…).{_TO_JSON}."),
    (b"ARROW1", "an Arrow file", f"Convert it: pandas.read_feather(…).{_TO_JSON}."),
    (b"BZh", "a bzip2 archive", "Unpack it first (bunzip2)."),
    (b"\xfd7zXZ\x00", "an xz archive", "Unpack it first (unxz)."),
    (b"\x28\xb5\x2f\xfd", "a zstd archive", "Unpack it first (unzstd)."),
    (b"SQLite format 3\x00", "an SQLite database", "Export the table as CSV."),
    (b"%PDF-", "a PDF document", "Give the table it was made from, as CSV or one JSON object per line."),
    (b"version https://git-lfs", "a Git LFS pointer, not the file itself", "Fetch the file (git lfs pull)."),
    (b"<", "a web page or XML", "Give the data itself; a download may have answered with an error page."),
)
_WIDE_MARKS = (
    (b"\xff\xfe\x00\x00", "UTF-32"),
    (b"\x00\x00\xfe\xff", "UTF-32"),
    (b"\xff\xfe", "UTF-16"),
    (b"\xfe\xff", "UTF-16"),
)


def _foreign(head: bytes, name: str) -> Problem | None:
    """Recognise another kind of file by its first bytes; name it for the message."""
    for mark, encoding in _WIDE_MARKS:
        if head.startswith(mark):
            return _wide(name, encoding)
    for magic, kind, remedy in _KINDS:
        if head.removeprefix(_UTF8_MARK).startswith(magic):
            return Problem(name, 0, "", f"This is {kind}.", remedy)
    if len(head) >= 4 and head.count(0) * 3 > len(head):
        return _wide(name, "UTF-16 or another encoding of two or more bytes a character, or not text at all")
    if b"\r" in head and b"\n" not in head and head.rstrip(b"\r").count(b"\r"):
        message = "The lines end in a carriage return only."
        return Problem(name, 0, "", message, "Save the file with line ends LF or CRLF.")
    return None


def _wide(name: str, encoding: str) -> Problem:
    remedy = "Save it as UTF-8 (iconv -f UTF-16 -t UTF-8 old > new)."
    return Problem(name, 0, "", f"The text is in {encoding}.", remedy)
