"""Authenticate requests by API token, and check the token's scope."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed, NotAuthenticated, Throttled
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from accounts.models import User
from accounts.rate_limits import API_REQUESTS, WRONG_API_TOKENS, client_of, retry_at
from annotation import actions, api_secrets
from annotation.models import ApiToken
from api.problems import MissingScope
from tomannot import clock

if TYPE_CHECKING:
    from api.base import ApiView

SCHEME = "Bearer"


class TokenAuthentication(BaseAuthentication):
    """``Authorization: Bearer tmn_…``. Cookies and sessions are ignored."""

    def authenticate(self, request: Request) -> tuple[User, ApiToken]:
        """Return the token's owner and the token, which becomes ``request.auth``.

        Raise ``NotAuthenticated`` without a token, ``AuthenticationFailed`` for an invalid one, and
        ``Throttled`` after too many requests or too many invalid tokens.
        """
        now = clock.now()
        scheme, _, secret = request.headers.get("Authorization", "").partition(" ")
        if not secret:
            raise NotAuthenticated("Send a token: Authorization: Bearer tmn_…")
        token = _token(secret.strip()) if scheme.lower() == SCHEME.lower() else None
        problem = _problem(token, now)
        if token is None or problem:
            _slow_down(retry_at(WRONG_API_TOKENS, client_of(request), now=now), now)
            raise AuthenticationFailed(problem)
        _slow_down(retry_at(API_REQUESTS, f"token {token.pk}", now=now), now)
        actions.note_use(token=token, now=now)
        return token.owner, token

    def authenticate_header(self, request: Request) -> str:
        return f'{SCHEME} realm="tomannot"'


def _token(secret: str) -> ApiToken | None:
    """Return the token with this secret. Malformed secrets never reach the database."""
    if not api_secrets.is_well_formed(secret):
        return None
    return ApiToken.objects.select_related("owner", "study").filter(digest=api_secrets.digest(secret)).first()


def _problem(token: ApiToken | None, now: datetime) -> str:
    if token is None:
        return "Unknown token. Copy all of it, or create a new one on the page “API tokens”."
    if not token.owner.is_active:
        return "The account of the token's owner is deactivated."
    return {
        ApiToken.Status.VALID: "",
        ApiToken.Status.REVOKED: "The token was revoked. Create a new one on the page “API tokens”.",
        ApiToken.Status.EXPIRED: "The token has expired. Create a new one on the page “API tokens”.",
    }[token.status(now)]


def _slow_down(until: datetime | None, now: datetime) -> None:
    if until is not None:
        raise Throttled(wait=max(1, int((until - now).total_seconds()) + 1))


class HasScope(BasePermission):
    """The token has the scope that the method needs."""

    def has_permission(self, request: Request, view: ApiView) -> bool:
        """Return True, or raise :class:`~api.problems.MissingScope`."""
        if view.scope is not None and not request.auth.allows(view.scope):
            raise MissingScope(f"The token lacks the scope {view.scope.value}.")
        return True
