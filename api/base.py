"""Base classes of the API's views: access to a study, parsing, pagination, headers."""

from collections.abc import Mapping
from typing import Any, ClassVar

from django.conf import settings
from django.db.models import QuerySet
from django.http import Http404
from django.utils import translation
from rest_framework.exceptions import ParseError, PermissionDenied
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.parsers import JSONParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import Serializer
from rest_framework.utils.urls import replace_query_param
from rest_framework.views import APIView

from accounts.models import User
from annotation.models import ApiToken, Study
from annotation.rights import SCOPE_RIGHTS, Right, token_rights
from api import problems

Scope = ApiToken.Scope


class JsonOnly(DefaultContentNegotiation):
    """Ignore the Accept header: every answer has one format."""

    def select_renderer(
        self, request: Request, renderers: list[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        return renderers[0], renderers[0].media_type


class Json(JSONParser):
    """Parse a JSON body. Refuse one nested too deeply for Python's parser like any malformed body."""

    def parse(
        self, stream: Any, media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        try:
            return super().parse(stream, media_type, parser_context)
        except RecursionError:
            raise ParseError("The JSON is nested too deeply.") from None


class ApiView(APIView):
    largest: ClassVar[int] = 1_000_000  # bytes of a body
    http_method_names: ClassVar[Any] = ["get", "head", "post", "put", "patch"]
    content_negotiation_class = JsonOnly
    parser_classes: ClassVar[Any] = [Json]

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Answer in English, whatever the client's language, and refuse bodies that are too large."""
        translation.activate(settings.LANGUAGE_CODE)
        super().initial(request, *args, **kwargs)
        sent = request.META.get("CONTENT_LENGTH") or "0"
        if sent.isdecimal() and int(sent) > self.largest:
            raise problems.TooLarge(f"Send at most {self.largest} bytes.")

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        """Forbid caching: an answer is for one token only."""
        response = super().finalize_response(request, response, *args, **kwargs)
        response["Cache-Control"] = "no-store"
        return response

    @property
    def scope(self) -> ApiToken.Scope | None:
        """The scope that the request's method needs (``api.openapi.operation``); None: any token."""
        return getattr(getattr(self, self.request.method.lower(), None), "scope", None)

    @property
    def user(self) -> User:
        """The token's owner, on whose behalf the request acts."""
        owner: User = self.request.user
        return owner

    @property
    def token(self) -> ApiToken:
        token: ApiToken = self.request.auth
        return token

    def read(self, serializer: type[Serializer], *, query: bool = False) -> dict[str, Any]:
        """Return the validated body or query string. Raise ``ValidationError``."""
        data = self.request.query_params if query else self.request.data
        given = serializer(data=data)
        given.is_valid(raise_exception=True)
        return dict(given.validated_data)

    def page(
        self, found: QuerySet[Any], serializer: type[Serializer], query: type[Serializer], *, by: str
    ) -> Response:
        """Return the requested page of a list in the order of the unique field ``by``.

        ``next`` is the address of the following page: the same with ``after``, the last row's key.
        """
        asked, key = self.read(query, query=True), by.removeprefix("-")
        if "after" in asked:
            found = found.filter(**{f"{key}__{'gt' if key == by else 'lt'}": asked["after"]})
        rows = list(found.order_by(by)[: asked["limit"] + 1])
        shown = rows[: asked["limit"]]
        following = getattr(shown[-1], key) if len(rows) > len(shown) else None
        results = serializer(shown, many=True, context={"request": self.request}).data
        return Response({"results": results, "next": self.next_page(following)})

    def next_page(self, after: Any) -> str | None:
        """Return the address of this list after the row with this key; None for None."""
        here = self.request.build_absolute_uri()
        return None if after is None else replace_query_param(here, "after", after)


class StudyView(ApiView):
    """Base of views of one study, ``self.study``.

    A token without access gets 404, as for a study that does not exist. A token whose owner has access but
    lacks the right gets 403.
    """

    study: Study

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        found = Study.objects.filter(slug=kwargs["slug"]).first()
        rights = token_rights(self.token, found) if found else frozenset()
        if found is None or Right.LOOK not in rights:
            raise Http404("There is no such study, or the token has no access to it.")
        self.study = found
        if self.scope is not None and SCOPE_RIGHTS[self.scope] not in rights:
            needed = SCOPE_RIGHTS[self.scope].value
            raise PermissionDenied(f"The token's owner lacks this right here: {needed}.")
