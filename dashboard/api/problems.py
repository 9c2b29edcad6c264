"""How the API refuses: a problem as RFC 9457 describes it, for whatever went wrong and wherever.

``detail`` says what is wrong and how to mend it, ``code`` the same for programs, and ``errors`` where it
is: the field of the request, or of an uploaded file its line.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from http import HTTPStatus
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.views import defaults
from rest_framework import exceptions
from rest_framework.response import Response

from annotation.errors import AnnotationError, ImportRefused, InvalidStudy, StudyExists, StudyNotReady
from annotation.protocols import UnknownProtocol
from dashboard.pages.not_found import is_for_researchers, not_found
from publishing.errors import NothingToRelease, NumberTaken, PublishingError, ReleaseUnderway, UnknownFilter
from qualification.errors import QualificationError

PREFIX = "/api/"
CONTENT_TYPE = "application/problem+json"
REFUSED: tuple[type[Exception], ...] = (
    AnnotationError,
    PublishingError,
    QualificationError,
    UnknownProtocol,
)
"""What actions refuse. It is a conflict with how things stand (409) unless said otherwise here."""

Error = dict[str, str]


class MissingScope(exceptions.PermissionDenied):
    """The token is not for this."""

    default_code = "missing_scope"


class TooLarge(exceptions.APIException):
    """The body is larger than may be sent."""

    status_code = HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    default_code = "too_large"


class Conflict(exceptions.APIException):
    """What is asked for does not fit how things stand."""

    status_code = HTTPStatus.CONFLICT
    default_code = "conflict"


def document(status: int, code: str, detail: str, errors: Sequence[Error] = ()) -> dict[str, Any]:
    """The body of a problem."""
    title = HTTPStatus(status).phrase
    body: dict[str, Any] = {
        "type": "about:blank",
        "title": title,
        "status": status,
        "code": code,
        "detail": detail,
    }
    return body | ({"errors": list(errors)} if errors else {})


def answer(error: Exception, context: Mapping[str, Any]) -> Response | None:
    """The answer to what a view raised; None for what is a fault of ours, which Django logs.

    The signature is that of ``EXCEPTION_HANDLER`` in Django REST framework.
    """
    if isinstance(error, Http404):
        body = document(404, "not_found", str(error) or "There is nothing at this address.")
    elif isinstance(error, PermissionDenied):
        body = document(403, "not_allowed", str(error) or "The token's owner may not do this.")
    elif isinstance(error, exceptions.ValidationError):
        # One sentence for people, the places for programs.
        body = document(
            422, "invalid", "Some of what was sent cannot be used.", list(_places(error.detail, ""))
        )
    elif isinstance(error, exceptions.APIException):
        body = document(error.status_code, str(error.get_codes()), str(error.detail))
    elif isinstance(error, REFUSED):
        body = _refused(error)
    else:
        return None
    return Response(body, status=body["status"], headers=_headers(error), content_type=CONTENT_TYPE)


def _refused(error: Exception) -> dict[str, Any]:
    said, code = str(error), _code(error)
    if isinstance(error, ImportRefused):
        found = [{"field": problem.field, "detail": str(problem)} for problem in error.problems]
        return document(422, code, said, found)
    if isinstance(error, InvalidStudy):
        return document(
            422, code, said, [{"field": name, "detail": text} for name, text in error.problems.items()]
        )
    if isinstance(error, StudyNotReady):
        return document(409, code, said, [{"field": "state", "detail": text} for text in error.blockers])
    if isinstance(error, UnknownFilter):
        return document(422, code, said, [{"field": "filter", "detail": said}])
    return document(409, code, said)


_CODES: Mapping[type[Exception], str] = {
    StudyExists: "study_exists",
    InvalidStudy: "invalid",
    ImportRefused: "invalid",
    StudyNotReady: "study_not_ready",
    UnknownFilter: "invalid",
    UnknownProtocol: "protocol_not_installed",
    NothingToRelease: "nothing_to_release",
    NumberTaken: "number_taken",
    ReleaseUnderway: "release_underway",
}


def _code(error: Exception) -> str:
    return next((code for kind, code in _CODES.items() if isinstance(error, kind)), "conflict")


def _headers(error: Exception) -> dict[str, str]:
    headers = {}
    if isinstance(error, exceptions.APIException):
        header = getattr(error, "auth_header", None)
        if header:
            headers["WWW-Authenticate"] = header
        wait = getattr(error, "wait", None)
        if wait is not None:
            headers["Retry-After"] = str(int(wait))
    return headers


def _places(detail: Any, where: str) -> Iterator[Error]:
    """What is wrong with a request, by field; ``a.0.b`` leads into lists and objects."""
    if isinstance(detail, Mapping):
        for name, inner in detail.items():
            yield from _places(inner, f"{where}.{name}" if where else str(name))
    elif isinstance(detail, list):
        for place, inner in enumerate(detail):
            nested = isinstance(inner, Mapping | list)
            yield from _places(inner, f"{where}.{place}" if nested else where)
    else:
        yield {"field": "" if where == "non_field_errors" else where, "detail": str(detail)}


def _is_for_programs(request: HttpRequest) -> bool:
    return request.path_info.startswith(PREFIX)


def _problem(status: int, code: str, detail: str) -> JsonResponse:
    return JsonResponse(document(status, code, detail), status=status, content_type=CONTENT_TYPE)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponseBase:
    """Django's answer to a request that it cannot read, as a problem under ``/api/``."""
    if _is_for_programs(request):
        return _problem(400, "bad_request", "The request cannot be read.")
    return defaults.bad_request(request, exception)


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponseBase:
    """The same for one that is not allowed."""
    if _is_for_programs(request):
        return _problem(403, "not_allowed", "This is not allowed.")
    return defaults.permission_denied(request, exception)


def page_not_found(request: HttpRequest, exception: Exception) -> HttpResponseBase:
    """The same for an address that there is not."""
    if _is_for_programs(request):
        detail = "There is nothing at this address. Those of the API are in /api/v1/openapi.yaml."
        return _problem(404, "not_found", detail)
    if is_for_researchers(request):
        return not_found(request)
    return defaults.page_not_found(request, exception)


def server_error(request: HttpRequest) -> HttpResponse:
    """The same for a fault of ours."""
    if _is_for_programs(request):
        return _problem(500, "fault", "A fault in tomannot. The server's log says where.")
    return defaults.server_error(request)
