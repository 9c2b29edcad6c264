"""Meanings of Prolific's error answers."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from django.utils.translation import gettext as _

from recruitment.marketplace import MarketplaceError, NotConfigured, NotEnoughMoney, Refused, Unreachable

_ID = re.compile(r"\b[0-9a-f]{24}\b", re.IGNORECASE)
_MONEY = re.compile(r"insufficient|\bfunds?\b|\bbalance\b|top.?up", re.IGNORECASE)


class NotFound(Refused):
    """No such thing exists, or not in this workspace."""


def error_of(status: int, body: object, operation: str, *, writes: bool) -> MarketplaceError:
    """Return the error for an answer that is no success.

    A server error says nothing of whether it was done; being told to slow down says that it was not. Ids of
    participants and submissions are left out of messages, since messages are stored and shown.
    """
    if status == 429:
        return Unreachable(_("Prolific asks to slow down (%s).") % operation, maybe_done=False)
    if status >= 500:
        told = {"operation": operation, "status": status}
        return Unreachable(
            _("Prolific failed with status %(status)s (%(operation)s).") % told, maybe_done=writes
        )
    if status in (401, 403):
        return NotConfigured(
            _("Prolific does not accept the API token for this (%(operation)s): %(detail)s")
            % {"operation": operation, "detail": detail_of(body)}
        )
    message = _("Prolific refused (%(operation)s): %(detail)s") % {
        "operation": operation,
        "detail": detail_of(body),
    }
    if status == 404:
        return NotFound(message, code="404")
    kind = NotEnoughMoney if _MONEY.search(detail_of(body)) else Refused
    return kind(message, code=str(status))


def without_ids(text: str) -> str:
    """Return the text without the ids of people, submissions and studies."""
    return _ID.sub("…", text)


def detail_of(body: object) -> str:
    """Return an error's message in one line: ``error.detail`` is a text, a list, or texts by field."""
    error = body.get("error", body) if isinstance(body, Mapping) else body
    detail = error.get("detail") or error.get("title") if isinstance(error, Mapping) else error
    return without_ids("; ".join(_texts(detail)))[:500] or _("no reason was given")


def _texts(detail: Any) -> Iterator[str]:
    if isinstance(detail, Mapping):
        for name, value in detail.items():
            yield f"{name}: {', '.join(_texts(value))}"
    elif isinstance(detail, list | tuple):
        for value in detail:
            yield from _texts(value)
    elif detail:
        yield str(detail)
