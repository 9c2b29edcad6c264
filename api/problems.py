"""Turn every refusal into a problem document (RFC 9457).

``detail`` tells people what is wrong and how to fix it, ``code`` tells programs, and ``errors`` says where:
the field of the request, or the line of an uploaded file.
"""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from http import HTTPStatus
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db import InterfaceError, InternalError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.template.loader import render_to_string
from django.views import defaults
from rest_framework import exceptions
from rest_framework.response import Response

from accounts.errors import DomainError
from annotation.errors import ImportRefused, InvalidStudy, StudyExists, StudyNotReady
from annotation.protocols import UnknownProtocol
from dashboard.not_found import is_for_researchers, not_found
from dashboard.overview.checklist import GapsNotAccepted
from publishing.errors import NothingToRelease, NumberTaken, ReleaseUnderway, UnknownFilter
from publishing.store import FAILURES, DamagedArchive, StoreUnavailable

PREFIX = "/api/"
CONTENT_TYPE = "application/problem+json"

Error = dict[str, str]


class MissingScope(exceptions.PermissionDenied):
    default_code = "missing_scope"


class TooLarge(exceptions.APIException):
    status_code = HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    default_code = "too_large"


class Conflict(exceptions.APIException):
    status_code = HTTPStatus.CONFLICT
    default_code = "conflict"


def document(status: int, code: str, detail: str, errors: Sequence[Error] = ()) -> dict[str, Any]:
    body: dict[str, Any] = {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "code": code,
        "detail": detail,
    }
    # Half a surrogate pair comes in by JSON, and could not go out.
    shown = [{name: text.encode(errors="replace").decode() for name, text in one.items()} for one in errors]
    return body | ({"errors": shown} if shown else {})


def answer(error: Exception, context: Mapping[str, Any]) -> Response | None:
    """Return the response to an exception of a view, or None for a bug, which Django logs.

    Django REST framework calls this as its ``EXCEPTION_HANDLER``.
    """
    from rest_framework.views import exception_handler  # it loads its settings, and so this module

    if isinstance(error, Http404):
        body = document(404, "not_found", str(error) or "There is nothing at this address.")
    elif isinstance(error, PermissionDenied):
        body = document(403, "not_allowed", str(error) or "The token's owner may not do this.")
    elif isinstance(error, exceptions.ValidationError):
        body = document(422, "invalid", "Some values are invalid.", list(_field_errors(error.detail, "")))
    elif isinstance(error, exceptions.APIException):
        body = document(error.status_code, str(error.get_codes()), str(error.detail))
    elif isinstance(error, DomainError | UnknownProtocol):
        status, code, found = next(kind for type, kind in _KINDS.items() if isinstance(error, type))
        errors = [{"field": name, "detail": told} for name, told in found(error)]
        body = document(status, code, str(error), errors)
    else:
        return None
    response = exception_handler(error, dict(context)) or Response()  # with the error's headers
    response.data, response.status_code, response.content_type = body, body["status"], CONTENT_TYPE
    return response


Found = Callable[[Any], Iterable[tuple[str, str]]]
"""A function that returns the errors of a refusal: fields, and what is wrong with them."""
_KINDS: Mapping[type[Exception], tuple[int, str, Found]] = {
    StudyExists: (409, "study_exists", lambda error: ()),
    InvalidStudy: (422, "invalid", lambda error: error.problems.items()),
    ImportRefused: (422, "invalid", lambda error: ((one.field, str(one)) for one in error.problems)),
    StudyNotReady: (409, "study_not_ready", lambda error: (("state", text) for text in error.blockers)),
    GapsNotAccepted: (409, "gaps_not_accepted", lambda error: ((one.code, one.text) for one in error.gaps)),
    UnknownFilter: (422, "invalid", lambda error: [("filter", str(error))]),
    UnknownProtocol: (409, "protocol_not_installed", lambda error: ()),
    NothingToRelease: (409, "nothing_to_release", lambda error: ()),
    NumberTaken: (409, "number_taken", lambda error: ()),
    ReleaseUnderway: (409, "release_underway", lambda error: ()),
    DomainError: (409, "conflict", lambda error: ()),
}
"""The first kind that fits decides."""


def _field_errors(detail: Any, where: str) -> Iterator[Error]:
    """Yield validation errors by field; ``a.0.b`` is a path through objects and lists."""
    if isinstance(detail, Mapping):
        for name, inner in detail.items():
            yield from _field_errors(inner, f"{where}.{name}" if where else str(name))
    elif isinstance(detail, list):
        for index, inner in enumerate(detail):
            nested = isinstance(inner, Mapping | list)
            yield from _field_errors(inner, f"{where}.{index}" if nested else where)
    else:
        yield {"field": "" if where == "non_field_errors" else where, "detail": str(detail)}


def _is_for_programs(request: HttpRequest) -> bool:
    return request.path_info.startswith(PREFIX)


def _problem(status: int, code: str, detail: str) -> JsonResponse:
    return JsonResponse(document(status, code, detail), status=status, content_type=CONTENT_TYPE)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponseBase:
    """Handle 400: a problem document under ``/api/``, otherwise Django's page."""
    if _is_for_programs(request):
        return _problem(400, "bad_request", "The request is malformed.")
    return defaults.bad_request(request, exception)


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponseBase:
    """Handle 403 in the same way."""
    if _is_for_programs(request):
        return _problem(403, "not_allowed", "This is not allowed.")
    return defaults.permission_denied(request, exception)


def page_not_found(request: HttpRequest, exception: Exception) -> HttpResponseBase:
    """Handle 404 in the same way; researchers get a page that leads them back."""
    if _is_for_programs(request):
        detail = "There is nothing at this address. /api/v1/openapi.yaml lists all addresses of the API."
        return _problem(404, "not_found", detail)
    if is_for_researchers(request):
        return not_found(request)
    return defaults.page_not_found(request, exception)


def _unavailable(request: HttpRequest) -> HttpResponse:
    if _is_for_programs(request):
        detail = (
            "The database or the shared store does not answer at the moment. Nothing was stored. Try again."
        )
        response: HttpResponse = _problem(503, "unavailable", detail)
    else:
        response = HttpResponse(render_to_string("503.html"), status=503)
    response["Retry-After"] = "5"
    return response


def server_error(request: HttpRequest) -> HttpResponse:
    """Handle 500 in the same way; 503 with ``Retry-After`` while PostgreSQL or the shared store is away."""
    error = sys.exception()
    is_away = isinstance(error, (StoreUnavailable, DamagedArchive, *FAILURES))
    if isinstance(error, OperationalError | InterfaceError | InternalError):
        # No connection (no SQLSTATE, class 08; psycopg's InternalError too), none left (53), a shutdown (57).
        is_away = (getattr(error.__cause__, "sqlstate", None) or "08")[:2] in ("08", "53", "57")
    if is_away:
        return _unavailable(request)
    if _is_for_programs(request):
        return _problem(500, "fault", "An error in tomannot. The server's log has the details.")
    return defaults.server_error(request)
