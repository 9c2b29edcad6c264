"""Helpers that researchers' pages share: read values from requests; make responses, files of tables too."""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from types import TracebackType
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.forms import BaseForm
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.utils.translation import gettext as _

from accounts.errors import DomainError
from annotation.downloads import EXPORTS, download
from annotation.numbers import number_in
from publishing.files import jsonl

MOST_PAGES = 10**6
"""The position of a row on the last page still fits into PostgreSQL's bigint."""
ROWS_AT_ONCE = 500
"""Rows per piece of a stream."""
_BEGINS_FORMULA = (*"=+-@\t\r\n", *"＝＋－＠")
_UNSEEN = " \ufeff"
"""Characters that spreadsheets drop before they look for a formula."""


def page_number(request: HttpRequest) -> int:
    """Return the number of the requested page of a list, or 1 if there can be no such page."""
    number = number_in(request.GET.get("page"))
    return number if 1 <= number <= MOST_PAGES else 1


def form_token(request: HttpRequest) -> UUID | None:
    """Return the form's idempotency token, or None if it is missing or malformed."""
    try:
        return UUID(request.POST.get("token", ""))
    except ValueError:
        return None


def render_form(
    request: HttpRequest, template: str, context: Mapping[str, Any], *, errors: object = None
) -> HttpResponse:
    """Render a page with a form: status 422 if there are ``errors``, else 200.

    ``errors`` defaults to those of the context's ``form``.
    """
    found = context["form"].errors if errors is None else errors
    return render(request, template, dict(context), status=422 if found else 200)


class ErrorsAsMessages(suppress):
    """A context that shows the refusal of an action, or one of ``others``, instead of raising it."""

    def __init__(self, request: HttpRequest, *others: type[Exception]) -> None:
        super().__init__(DomainError, *others)
        self._request = request

    def __exit__(self, kind: Any, error: BaseException | None, traceback: TracebackType | None) -> bool:
        is_refusal = super().__exit__(kind, error, traceback)
        if is_refusal:
            said = _("Nothing was saved: the form was incomplete. Fill it in again.")
            messages.error(self._request, said if isinstance(error, ValueError) else str(error))
        return is_refusal


class ErrorsInForm(suppress):
    """A context that shows the refusal of an action in a form instead of raising it.

    Show each of its ``problems`` at the field it names, and the rest at the field ``at``; without ``at``,
    above the form.
    """

    def __init__(self, form: BaseForm, at: str | None = None) -> None:
        super().__init__(DomainError)
        self._form, self._at = form, at

    def __exit__(self, kind: Any, error: BaseException | None, traceback: TracebackType | None) -> bool:
        is_refusal = super().__exit__(kind, error, traceback)
        if is_refusal:
            problems = getattr(error, "problems", None) or str(error).splitlines()
            named = (
                problems.items() if isinstance(problems, Mapping) else ((self._at, one) for one in problems)
            )
            for name, problem in named:
                self._form.add_error(name if name in self._form.fields else None, str(problem))
        return is_refusal


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
