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
SAID = {
    400: "The body cannot be read.",
    401: "The token is missing or invalid.",
    403: "The token lacks the scope, or its owner the right.",
    404: "Not found, or the token has no access to it.",
    409: "The request conflicts with the current state.",
    413: "The body is too large.",
    415: "The media type of the body is not supported.",
    422: "A value is invalid; “errors” says which and why.",
    429: "Too many requests; Retry-After says how many seconds to wait.",
}
BODY = (400, 413, 415, 422)
"""Refusals of a request with a body."""
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
    retry: tuple[int, ...] = (429,),
) -> Callable[[Any], Any]:
    """Declare a view's method: the scope that it needs (None: any token), and its part of the schema.

    The first sentence of its docstring is the summary. ``answers`` maps statuses to responses; ``refusals``
    are the statuses of its problems besides those of ``access``, of a body, of a query string and of every
    method. ``takes`` is the body, ``query`` the serializer of the query string; the answers with a status of
    ``retry`` carry Retry-After.
    """
    expected = [*access, *refusals, *(BODY if takes else ()), *((422,) if query else ()), 401, 429]
    problems = {
        (status, CONTENT_TYPE): OpenApiResponse(responses.Problem, description=SAID[status])
        for status in expected
    }
    wait = OpenApiParameter(
        "Retry-After", int, OpenApiParameter.HEADER, response=list(retry), description="Seconds."
    )
    parameters = [*([query] if query else []), *headers, wait]

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
