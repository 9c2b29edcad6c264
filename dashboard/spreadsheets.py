"""Tables as CSV files that spreadsheets can open without running anything in them."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.http import HttpResponse

_BEGINS_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


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


def guarded(value: Any) -> Any:
    """The value, a text with an apostrophe before it where a spreadsheet would take it for a formula.

    This is the guard that OWASP describes ("CSV Injection"); quoting alone does not stop spreadsheets.
    """
    return f"'{value}" if isinstance(value, str) and value.startswith(_BEGINS_FORMULA) else value
