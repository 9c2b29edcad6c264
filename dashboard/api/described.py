"""What the OpenAPI schema says beside the fields: which refusals an address has, and how to come in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema

from dashboard.api import outputs
from dashboard.api.problems import CONTENT_TYPE

ALWAYS = {
    401: "There is no token, or one that opens nothing.",
    429: "Too many requests; Retry-After says in how many seconds the next may come.",
}
SAID = {
    400: "The body cannot be read.",
    403: "The token lacks the scope, or its owner the right.",
    404: "There is no such thing, or the token does not open it.",
    409: "It does not fit how things stand.",
    413: "The body is too large.",
    415: "The body is of another media type.",
    422: "Something that was sent cannot be used; “errors” says what and where.",
}
BODY = (400, 413, 415, 422)
"""What can be wrong with a request that has a body."""


def _retry_after(*statuses: int) -> OpenApiParameter:
    return OpenApiParameter(
        "Retry-After", int, OpenApiParameter.HEADER, response=list(statuses), description="Seconds."
    )


RETRY_AFTER = _retry_after(202, 429)
"""Of an address that says of its own work, too, when to ask again."""
ALWAYS_RETRY_AFTER = _retry_after(429)
LOCATION = OpenApiParameter(
    "Location", str, OpenApiParameter.HEADER, response=[201, 202], description="Where it is."
)


class TokenScheme(OpenApiAuthenticationExtension):
    """How to come in."""

    target_class = "dashboard.api.authentication.TokenAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, Any]:
        """A bearer token."""
        return {"type": "http", "scheme": "bearer", "description": "A token from the page “API tokens”."}


def described(
    answers: Mapping[Any, Any],
    *refusals: int,
    operation: str,
    says: str,
    takes: Any = None,
    query: Any = None,
    headers: tuple[OpenApiParameter, ...] = (),
) -> Callable[[Any], Any]:
    """Decorates a method of a view with what it takes and answers.

    ``answers`` are its own by status, ``refusals`` the statuses of its problems beside those that every
    address has. ``takes`` is its body, ``query`` the serializer of what may follow ``?``.
    """
    statuses = {**{status: SAID[status] for status in refusals}, **ALWAYS}
    problems = {
        (status, CONTENT_TYPE): OpenApiResponse(outputs.Problem, description=text)
        for status, text in statuses.items()
    }
    retry = () if RETRY_AFTER in headers else (ALWAYS_RETRY_AFTER,)
    parameters = [*([query] if query else []), *headers, *retry]
    decorate: Callable[[Any], Any] = extend_schema(
        operation_id=operation,
        summary=says,
        description="",
        request=takes,
        responses={**answers, **problems},
        parameters=parameters,
        tags=["tomannot"],
    )
    return decorate
