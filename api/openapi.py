"""The OpenAPI schema: a decorator that declares a view's method, and the address of docs/openapi.yaml."""

from collections.abc import Callable, Mapping
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema

from annotation.models import ApiToken
from api import responses
from api.problems import CONTENT_TYPE

PATH = settings.BASE_DIR / "docs" / "openapi.yaml"
"""A test holds that the file is what the code says."""
ALWAYS = {
    401: "The token is missing or invalid.",
    429: "Too many requests; Retry-After says how many seconds to wait.",
}
SAID = {
    400: "The body cannot be read.",
    403: "The token lacks the scope, or its owner the right.",
    404: "Not found, or the token has no access to it.",
    409: "The request conflicts with the current state.",
    413: "The body is too large.",
    415: "The media type of the body is not supported.",
    422: "A value is invalid; “errors” says which and why.",
}
BODY = (400, 413, 415, 422)
"""Refusals of a request with a body."""


def _retry_after(*statuses: int) -> OpenApiParameter:
    return OpenApiParameter(
        "Retry-After", int, OpenApiParameter.HEADER, response=list(statuses), description="Seconds."
    )


RETRY_AFTER = _retry_after(202, 429)
"""For views that send Retry-After with a 202, too."""
ALWAYS_RETRY_AFTER = _retry_after(429)
LOCATION = OpenApiParameter(
    "Location", str, OpenApiParameter.HEADER, response=[201, 202], description="Address of the new object."
)


class TokenScheme(OpenApiAuthenticationExtension):
    """Bearer tokens, for the schema."""

    target_class = "api.authentication.TokenAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, Any]:
        return {"type": "http", "scheme": "bearer", "description": "A token from the page “API tokens”."}


def operation(
    name: str,
    scope: ApiToken.Scope | None,
    answers: Mapping[Any, Any],
    *refusals: int,
    access: tuple[int, ...] = (403, 404),
    takes: Any = None,
    query: Any = None,
    headers: tuple[OpenApiParameter, ...] = (),
) -> Callable[[Any], Any]:
    """Declare a view's method: the scope that it needs (None: any token), and its part of the schema.

    The first sentence of its docstring is the summary. ``answers`` maps statuses to responses; ``refusals``
    are the statuses of its problems besides those of ``access``, of a body and of a query string, and
    :data:`ALWAYS`. ``takes`` is the body, ``query`` the serializer of the query string.
    """
    expected = [*access, *refusals, *(BODY if takes else ()), *((422,) if query else ())]
    statuses = {**{status: SAID[status] for status in expected}, **ALWAYS}
    problems = {
        (status, CONTENT_TYPE): OpenApiResponse(responses.Problem, description=text)
        for status, text in statuses.items()
    }
    retry = () if RETRY_AFTER in headers else (ALWAYS_RETRY_AFTER,)
    parameters = [*([query] if query else []), *headers, *retry]

    def decorate(method: Any) -> Any:
        method.scope = scope
        summary, _dot, description = " ".join(method.__doc__.split()).partition(". ")
        return extend_schema(
            operation_id=name,
            summary=summary,
            description=description,
            request=takes,
            responses={**answers, **problems},
            parameters=parameters,
            tags=["tomannot"],
        )(method)

    return decorate


@require_safe
def openapi(request: HttpRequest) -> HttpResponse:
    """Serve the schema to anybody: it says nothing that the documentation does not."""
    return HttpResponse(PATH.read_bytes(), content_type="application/yaml")
