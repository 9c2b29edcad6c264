"""Tables as JSON lines, and as CSV files that spreadsheets open without running anything in them."""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase

from annotation.downloads import EXPORTS, download
from publishing.files import jsonl

ROWS_AT_ONCE = 500
"""Rows per piece of a stream."""
_BEGINS_FORMULA = (*"=+-@\t\r\n", *"＝＋－＠")
_UNSEEN = " \ufeff"
"""Characters that spreadsheets drop before they look for a formula."""


def csv_file(name: str, columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> HttpResponse:
    """Return a download of this name (without ``.csv``): a line of ``columns``, then one per row.

    Texts are guarded (:func:`guarded`); None is an empty cell; numbers are written as they are.
    """
    response = HttpResponse(csv_pieces(columns, rows), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}.csv"'
    return response


def csv_stream(
    request: HttpRequest, name: str, columns: Sequence[str], rows: Iterable[Mapping[str, Any]]
) -> HttpResponseBase:
    """Stream a file like that of :func:`csv_file` while ``rows`` are read; memory stays bounded."""
    pieces = csv_pieces(columns, rows)
    return download(request, pieces, kind=EXPORTS, name=f"{name}.csv", media_type="text/csv; charset=utf-8")


def json_stream(request: HttpRequest, name: str, rows: Iterator[Mapping[str, Any]]) -> HttpResponseBase:
    """Stream rows as JSON lines, a file of this name (without ``.jsonl``)."""
    media_type = "application/jsonl; charset=utf-8"
    return download(request, json_pieces(rows), kind=EXPORTS, name=f"{name}.jsonl", media_type=media_type)


def json_pieces(rows: Iterator[Mapping[str, Any]]) -> Iterator[bytes]:
    """Yield the rows as JSON lines, some hundred at a time: single lines would be slow to send."""
    while piece := b"".join(jsonl.line(row) for row in islice(rows, ROWS_AT_ONCE)):
        yield piece


def csv_pieces(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the text of :func:`csv_file`, some hundred rows at a time."""
    written = io.StringIO()
    writer = csv.writer(written)
    writer.writerow([guarded(column) for column in columns])
    for number, row in enumerate(rows, start=1):
        writer.writerow([guarded(row[column]) for column in columns])
        if number % ROWS_AT_ONCE == 0:
            yield written.getvalue()
            written.seek(0)
            written.truncate()
    yield written.getvalue()


def guarded(value: Any) -> Any:
    """Put an apostrophe before a text that a spreadsheet would take for a formula.

    OWASP describes this guard ("CSV Injection"); quoting alone does not stop spreadsheets.
    """
    return (
        f"'{value}" if isinstance(value, str) and value.lstrip(_UNSEEN).startswith(_BEGINS_FORMULA) else value
    )
