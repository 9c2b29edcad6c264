"""Helpers that researchers' pages share: read values from requests, and make responses."""

from collections.abc import Mapping
from contextlib import suppress
from types import TracebackType
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _

from accounts.errors import DomainError

MOST_DIGITS = 18
"""Numbers with so many digits fit into PostgreSQL's bigint."""
MOST_PAGES = 10**6
"""So that the number of a row fits there, too."""


def number_in(text: str | None) -> int | None:
    """Return the positive whole number that the text spells, or None for anything else."""
    if text is None or len(text) > MOST_DIGITS or not (text.isascii() and text.isdigit()):
        return None
    return int(text) or None


def page_number(request: HttpRequest) -> int:
    """Return the number of the requested page of a list, or 1 if there can be no such page."""
    number = number_in(request.GET.get("page"))
    return number if number and number <= MOST_PAGES else 1


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
    """A context that shows the refusal of an action to the researcher instead of raising it.

    ::

        with ErrorsAsMessages(request):
            actions.suspend(...)
            messages.success(request, _("Suspended."))

    It does so with ``others``, too. ``ValueError`` among them is a form that lacks a value.
    """

    def __init__(self, request: HttpRequest, *others: type[Exception]) -> None:
        super().__init__(DomainError, *others)
        self._request = request

    def __exit__(self, kind: Any, error: BaseException | None, traceback: TracebackType | None) -> bool:
        is_refusal = super().__exit__(kind, error, traceback)
        if is_refusal:
            said = _("Nothing was saved: the form was incomplete. Fill it in again.")
            messages.error(self._request, said if isinstance(error, ValueError) else str(error))
        return is_refusal
