"""Create and revoke API tokens, and record their use."""

from collections.abc import Collection
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q
from django.utils.translation import gettext as _

from accounts.models import User
from accounts.rows import locked
from annotation import api_secrets
from annotation.actions.events import record_event
from annotation.errors import InvalidApiToken
from annotation.models import ApiToken, Event, Study
from annotation.rights import token_studies

LONGEST = timedelta(days=366)
"""A token that lives longer would be forgotten."""
USE_NOTED_EVERY = timedelta(hours=1)


@transaction.atomic
def make_api_token(
    *,
    owner: User,
    name: str,
    scopes: Collection[str],
    expires_at: datetime,
    study: Study | None,
    by: User | None,
    now: datetime,
) -> tuple[ApiToken, str]:
    """Create a token and return it with its secret, which is never available again.

    Every study that it opens now logs it; its row is never deleted. Raise :class:`InvalidApiToken` for an
    invalid name, scope or lifetime.
    """
    name = name.strip()
    known = [scope.value for scope in ApiToken.Scope if scope.value in scopes]
    if not name or len(name) > 100 or "\0" in name:
        raise InvalidApiToken(_("Give the token a name of 1 to 100 characters."))
    if not known or len(known) != len(set(scopes)):
        raise InvalidApiToken(_("Choose what the token is for."))
    if not now < expires_at <= now + LONGEST:
        raise InvalidApiToken(_("A token lasts a year at most."))
    secret = api_secrets.new_secret()
    token = ApiToken.objects.create(
        owner=owner,
        study=study,
        name=name,
        scopes=known,
        digest=api_secrets.digest(secret),
        made_at=now,
        expires_at=expires_at,
    )
    note = f"{owner.get_username()}: {' '.join(known)}, until {expires_at:%Y-%m-%d}"
    _record(token, Event.Type.API_TOKEN_MADE, by=by, now=now, note=note)
    return token, secret


@transaction.atomic
def revoke_api_token(*, token: ApiToken, by: User | None, now: datetime) -> ApiToken:
    """Revoke the token, if it is not revoked already.

    Every study that it opened until now logs this, and so do those that logged its creation.
    """
    token = locked(token)
    if token.revoked_at is None:
        token.revoked_at, token.revoked_by = now, by
        token.save(update_fields=["revoked_at", "revoked_by"])
        _record(token, Event.Type.API_TOKEN_REVOKED, by=by, now=now, note=token.owner.get_username())
    return token


@transaction.atomic
def revoke_all_api_tokens(*, owner: User, by: User | None, now: datetime) -> int:
    """Revoke all tokens of this researcher. Return how many were valid."""
    valid = list(ApiToken.objects.filter(owner=owner, revoked_at=None, expires_at__gt=now).order_by("pk"))
    for token in valid:
        revoke_api_token(token=token, by=by, now=now)
    return len(valid)


@transaction.atomic
def note_use(*, token: ApiToken, now: datetime) -> None:
    """Record that the token is in use, at most once an hour: a write per request would be expensive."""
    stale = now - USE_NOTED_EVERY
    if token.last_used_at is None or token.last_used_at <= stale:
        unnoted = Q(last_used_at=None) | Q(last_used_at__lte=stale)
        ApiToken.objects.filter(unnoted, pk=token.pk, revoked_at=None).update(last_used_at=now)


def _record(token: ApiToken, type: Event.Type, *, by: User | None, now: datetime, note: str) -> None:
    subject = f"API token {token.pk}"
    told = Event.objects.filter(type=Event.Type.API_TOKEN_MADE, subject=subject).values("study")
    concerned = Study.objects.filter(Q(pk__in=token_studies(token).values("pk")) | Q(pk__in=told))
    for study in concerned.order_by("pk"):
        record_event(study=study, type=type, by=by, now=now, subject=subject, note=note)
