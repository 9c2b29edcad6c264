"""What every address of the API has in common: who may ask, how a page of a list is made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar
from urllib.parse import urlencode

from django.conf import settings
from django.http import Http404, HttpRequest
from django.utils import translation
from rest_framework.exceptions import ParseError, PermissionDenied
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.parsers import JSONParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import Serializer
from rest_framework.views import APIView

from accounts.models import User
from annotation.models import ApiToken, Study
from annotation.rights import SCOPE_RIGHTS, Right, token_rights
from dashboard.api import problems

Scope = ApiToken.Scope
LARGEST_JSON = 1_000_000
"""Bytes of a body that is not a story file."""


class JsonOnly(DefaultContentNegotiation):
    """There is one form of each answer, so what the client would rather have changes nothing."""

    def select_renderer(
        self, request: Request, renderers: list[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        """The only one."""
        return renderers[0], renderers[0].media_type


class Json(JSONParser):
    """A body in JSON. One that is nested deeper than Python reads is refused like any that is no JSON."""

    def parse(
        self, stream: Any, media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        """What was sent. Raises ``ParseError``."""
        try:
            return super().parse(stream, media_type, parser_context)
        except RecursionError:
            raise ParseError("The JSON is nested too deeply.") from None


class ApiView(APIView):
    """An address of the API. ``scopes`` says what each of its methods needs (None: any token)."""

    scopes: ClassVar[Mapping[str, ApiToken.Scope | None]] = {}
    largest: ClassVar[int] = LARGEST_JSON
    http_method_names: ClassVar[Any] = ["get", "head", "post", "put", "patch"]
    content_negotiation_class = JsonOnly
    parser_classes: ClassVar[Any] = [Json]

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """In English whatever the client reads; nothing larger than may be sent."""
        translation.activate(settings.LANGUAGE_CODE)
        super().initial(request, *args, **kwargs)
        sent = request.META.get("CONTENT_LENGTH") or "0"
        if sent.isdecimal() and int(sent) > self.largest:
            raise problems.TooLarge(f"Send {self.largest} bytes at the most.")

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        """What is answered to one token is kept nowhere on the way."""
        response = super().finalize_response(request, response, *args, **kwargs)
        response["Cache-Control"] = "no-store"
        response["X-Content-Type-Options"] = "nosniff"
        return response

    def method_of(self, request: Request) -> str:
        """HEAD is GET without a body."""
        return "GET" if request.method == "HEAD" else request.method

    @property
    def user(self) -> User:
        """The token's owner, in whose name everything is done."""
        owner: User = self.request.user
        return owner

    @property
    def token(self) -> ApiToken:
        """What the request brought."""
        token: ApiToken = self.request.auth
        return token

    def read(self, serializer: type[Serializer], *, query: bool = False) -> dict[str, Any]:
        """What was sent in the body, or after ``?``. Raises ``ValidationError``."""
        data = self.request.query_params if query else self.request.data
        given = serializer(data=data)
        given.is_valid(raise_exception=True)
        return dict(given.validated_data)

    def page(
        self, rows: list[Any], make: Callable[[Any], Any], *, size: int, last: Callable[[Any], Any]
    ) -> dict[str, Any]:
        """A page of a list that was read one row further than ``size``.

        ``next`` is the address of the page after it: the same with ``after``, the last row's key.
        """
        shown = rows[:size]
        following = last(shown[-1]) if len(rows) > size else None
        return {"results": [make(row) for row in shown], "next": self.next_page(following)}

    def next_page(self, after: Any) -> str | None:
        """The address of this list behind a row; None for None."""
        if after is None:
            return None
        asked = self.request.query_params.dict() | {"after": after}
        return absolute(self.request, f"{self.request.path}?{urlencode(asked)}")


class StudyView(ApiView):
    """An address of one study, ``self.study``.

    For a token that may not look at it there is no such study (404). One whose owner may look but not do
    this is refused (403).
    """

    study: Study

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Raises ``Http404`` and ``PermissionDenied``."""
        super().initial(request, *args, **kwargs)
        found = Study.objects.filter(slug=kwargs["slug"]).first()
        rights = token_rights(self.token, found) if found else frozenset()
        if found is None or Right.LOOK not in rights:
            raise Http404("There is no such study, or the token does not open it.")
        self.study = found
        scope = self.scopes.get(self.method_of(request))
        if scope is not None and SCOPE_RIGHTS[scope] not in rights:
            raise PermissionDenied(f"Who owns the token may not do this here: {SCOPE_RIGHTS[scope].value}.")


def absolute(request: HttpRequest | Request, path: str) -> str:
    """A path of this site as the client reaches it."""
    return str(request.build_absolute_uri(path))


def accepted(data: Any, location: str) -> Response:
    """It was taken and a worker does it; ``location`` says how it stands."""
    return Response(data, status=202, headers={"Location": location})
