"""Tables as CSV files that spreadsheets can open without running anything in them."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase

from annotation.downloads import EXPORTS, download

ROWS_AT_ONCE = 500
"""Of a stream: rows that are sent together."""
_BEGINS_FORMULA = (*"=+-@\t\r\n", *"＝＋－＠")
_UNSEEN = " \ufeff"
"""What spreadsheets drop before they look whether a cell begins with one."""


def csv_file(name: str, columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> HttpResponse:
    """A download of this name (without ``.csv``) with a line of ``columns`` and one per row.

    Texts are guarded (:func:`guarded`); None is an empty cell; numbers are written as they are.
    """
    response = HttpResponse(content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}.csv"'
    writer = csv.writer(response)
    writer.writerow([guarded(column) for column in columns])
    writer.writerows([guarded(row[column]) for column in columns] for row in rows)
    return response


def csv_stream(
    request: HttpRequest, name: str, columns: Sequence[str], rows: Iterable[Mapping[str, Any]]
) -> HttpResponseBase:
    """The same as :func:`csv_file`, sent while ``rows`` are still being read; memory stays bounded."""
    pieces = csv_pieces(columns, rows)
    return download(request, pieces, kind=EXPORTS, name=f"{name}.csv", media_type="text/csv; charset=utf-8")


def csv_pieces(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """The text of :func:`csv_file`, some hundred rows at a time."""
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
    """The value, a text with an apostrophe before it where a spreadsheet would take it for a formula.

    This is the guard that OWASP describes ("CSV Injection"); quoting alone does not stop spreadsheets.
    """
    return (
        f"'{value}" if isinstance(value, str) and value.lstrip(_UNSEEN).startswith(_BEGINS_FORMULA) else value
    )
