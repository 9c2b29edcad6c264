"""Who sends a request: the owner of the token that it brings, and nobody else."""

from __future__ import annotations

from datetime import datetime

from django.utils import timezone
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed, NotAuthenticated, Throttled
from rest_framework.request import Request

from accounts.limits import API_REQUESTS, WRONG_API_TOKENS, client_of, retry_at
from accounts.models import User
from annotation import actions, api_secrets
from annotation.models import ApiToken

SCHEME = "Bearer"


class TokenAuthentication(BaseAuthentication):
    """``Authorization: Bearer tmn_…``. A cookie or a session opens nothing here."""

    def authenticate(self, request: Request) -> tuple[User, ApiToken]:
        """The owner and the token; ``request.auth`` is the token from here on.

        Raises ``NotAuthenticated`` without a token, ``AuthenticationFailed`` for one that opens nothing,
        and ``Throttled`` when there were too many of either of its kind.
        """
        now = timezone.now()
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
        """What a 401 says about how to come in."""
        return f'{SCHEME} realm="tomannot"'


def _token(secret: str) -> ApiToken | None:
    """The token with this secret. What cannot be one is not looked for."""
    if not api_secrets.is_well_formed(secret):
        return None
    return ApiToken.objects.select_related("owner", "study").filter(digest=api_secrets.digest(secret)).first()


def _problem(token: ApiToken | None, now: datetime) -> str:
    """Why a token opens nothing; empty: it opens something."""
    if token is None:
        return "This is no token of ours. Copy it whole, or make a new one on the page “API tokens”."
    if not token.owner.is_active:
        return "The account of the token's owner is switched off."
    return {
        ApiToken.Standing.VALID: "",
        ApiToken.Standing.REVOKED: "The token was revoked. Make a new one on the page “API tokens”.",
        ApiToken.Standing.EXPIRED: "The token's time is over. Make a new one on the page “API tokens”.",
    }[token.standing(now)]


def _slow_down(until: datetime | None, now: datetime) -> None:
    if until is not None:
        raise Throttled(wait=max(1, int((until - now).total_seconds()) + 1))
