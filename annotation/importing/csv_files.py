"""Read CSV files with a header, as in RFC 4180; the header says which character separates the cells."""

import csv
from collections.abc import Iterator, Sequence
from typing import BinaryIO

from annotation.importing.lines import MAX_LINE_BYTES, decode_line, next_line
from annotation.importing.rows import Problem, SourceRow, find_forbidden, invisible, quote

_SEPARATORS = b",;\t|"


def read_csv(
    stream: BinaryIO, name: str, why: str, headerless: Sequence[str] = ()
) -> Iterator[SourceRow | Problem]:
    """Yield the rows of a CSV file as mappings from column name to cell text.

    A row's line is the one it starts on, as a quoted cell may contain line breaks. Rows carry the line of
    the header, so that problems with the columns are reported once. ``why`` says how the format was chosen.
    ``headerless`` are the columns of a file whose first line has as many cells and names none of them.
    """
    lines = _Lines(stream, name)
    first = _first_line(stream)
    separator = chr(max(_SEPARATORS, key=first.count))
    reader = csv.reader(lines, strict=True, delimiter=separator)
    cells = first.decode(errors="replace").strip().split(separator)
    has_header = len(cells) != len(headerless) or not {*cells}.isdisjoint(headerless)
    header, header_line = [] if has_header else [*headerless], 1
    while True:
        start = lines.begin_row()
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield from lines.problems
            yield _explain(error, name, start)
            if not header or _is_final(error):
                return
            continue
        if lines.problems:
            yield from lines.problems
            if not header:
                return
        elif not cells:
            continue
        elif not header:
            header, header_line = [cell.strip() for cell in cells], start
            problems = _header_problems(header, name, start, why)
            yield from problems
            if problems:
                return
        else:
            yield _row(header, cells, name, start, header_line)


def _first_line(stream: BinaryIO) -> bytes:
    """Return the first line that is not blank, whose separators count. Leave the stream as it is."""
    start = stream.tell()
    line = b"\n"
    while line and not line.strip():
        line = stream.readline(MAX_LINE_BYTES)
    stream.seek(start)
    return line


class _Lines:
    """Feeds lines to ``csv``, and keeps the line number and the problem of the current row.

    An unreadable line is replaced by a harmless one, so that the reader keeps its place.
    """

    def __init__(self, stream: BinaryIO, name: str) -> None:
        self._stream = stream
        self._name = name
        self._row_bytes = 0
        self.number = 0
        self.problems: list[Problem] = []

    def begin_row(self) -> int:
        """Reset the state of the previous row. Return the line number on which the next row starts."""
        self._row_bytes = 0
        self.problems = []
        return self.number + 1

    def __iter__(self) -> "_Lines":
        return self

    def __next__(self) -> str:
        self.number += 1
        raw = next_line(self._stream, self._name, self.number)
        if isinstance(raw, Problem):
            self.problems.append(raw)
            return "\n"
        if not raw:
            raise StopIteration
        self._row_bytes += len(raw)
        if self._row_bytes > MAX_LINE_BYTES:
            raise csv.Error(_TOO_LONG)
        text = decode_line(raw, self._name, self.number)
        if isinstance(text, Problem):
            self.problems.append(text)
            text = raw.decode(errors="replace")
        return text


_TOO_LONG = "field larger than field limit"  # what the csv module says of one cell, here of a row


def _is_final(error: csv.Error) -> bool:
    return str(error).startswith((_TOO_LONG, "unexpected end of data"))


def _explain(error: csv.Error, name: str, start: int) -> Problem:
    cause = str(error)
    if _is_final(error):
        message = "A quoted cell of the row that starts here is never closed."
        remedy = 'Close it; inside a quoted cell write a quote mark twice ("").'
    elif "expected after" in cause:
        message = "Something follows the closing quote mark of a cell."
        remedy = 'Inside a quoted cell write a quote mark twice ("").'
    elif "new-line character" in cause:
        message = "There is a carriage return in the middle of the row."
        remedy = "Save the file with line ends LF or CRLF, and put cells with line breaks in quotes."
    else:
        message, remedy = f"The row cannot be read: {cause}.", "Export the table as CSV again."
    return Problem(name, start, "", message, remedy)


def _header_problems(header: list[str], name: str, line: int, why: str) -> list[Problem]:
    if len(header) == 1:
        message = f"The header {quote(header[0])} has a single column. ({why})"
        return [Problem(name, line, "", message, "Give the columns in the first line, with commas between.")]
    problems = []
    for index, column in enumerate(header):
        if not column:
            remedy = "Name it or remove it (pandas: to_csv(index=False))."
            problems.append(Problem(name, line, "", f"Column {index + 1} has no name.", remedy))
        elif column in header[:index]:
            message = f"There are two columns {quote(column)}."
            problems.append(Problem(name, line, column[:60], message, "Remove one of them."))
        elif find_forbidden(column) >= 0:
            message = f"The name of column {index + 1}, {quote(column)}, holds an invisible character."
            problems.append(Problem(name, line, "", message, "Type the column's name again."))
    return problems


def _row(header: list[str], cells: list[str], name: str, line: int, header_line: int) -> SourceRow | Problem:
    if len(cells) != len(header):
        remedy = (
            "Put cells that hold the separator of the columns in double quotes."
            if len(cells) > len(header)
            else "Write every cell, empty ones too."
        )
        message = f"The row has {len(cells)} cells; the header has {len(header)}."
        return Problem(name, line, "", message, remedy)
    for column, cell in zip(header, cells, strict=True):
        if found := invisible(cell):
            return Problem(name, line, column, found, "Remove it.")
    return SourceRow(name, line, dict(zip(header, cells, strict=True)), header_line)
