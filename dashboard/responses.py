"""Responses that the researchers' pages share: pages with a form, refusals shown as messages."""

from collections.abc import Mapping
from types import TracebackType
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _


def render_form(
    request: HttpRequest, template: str, context: Mapping[str, Any], *, errors: object = None
) -> HttpResponse:
    """Render a page with a form: status 422 if there are ``errors``, else 200.

    ``errors`` defaults to those of the context's ``form``.
    """
    found = context["form"].errors if errors is None else errors
    return render(request, template, dict(context), status=422 if found else 200)


class ErrorsAsMessages:
    """A context that shows these refusals to the researcher instead of raising them.

    ::

        with ErrorsAsMessages(request, AnnotationError):
            actions.suspend(...)
            messages.success(request, _("Suspended."))

    ``ValueError`` among them is a form that lacks a value.
    """

    def __init__(self, request: HttpRequest, *refusals: type[Exception]) -> None:
        self._request = request
        self._refusals = refusals

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        if not isinstance(error, self._refusals):
            return False
        said = _("Nothing was saved: the form was incomplete. Fill it in again.")
        messages.error(self._request, said if isinstance(error, ValueError) else str(error))
        return True
