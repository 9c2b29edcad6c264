"""Prolific's REST API over HTTP: one request, repeated only where that is safe; errors."""

import itertools
import json
import re
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Any
from urllib.parse import urlencode

import urllib3
from django.utils.translation import gettext as _
from urllib3.exceptions import ConnectTimeoutError, HTTPError, NewConnectionError, SSLError

from recruitment.marketplace import MarketplaceError, NotConfigured, NotEnoughMoney, Refused, Unreachable
from tomannot.metrics import timed

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
        values = {"operation": operation, "status": status}
        return Unreachable(
            _("Prolific failed with status %(status)s (%(operation)s).") % values, maybe_done=writes
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


API = "https://api.prolific.com"
TRIES = 4
LONGEST_PAUSE = 8.0
"""Seconds between two tries, at the most; a sweep comes again anyway."""
PAGE_SIZE = 100
READS = 3
"""Reads until a change must show, since one may be answered from an old copy."""


_KINDS: Mapping[str, Any] = {
    **dict.fromkeys(("actions", "completion_codes", "results"), list),
    **dict.fromkeys(("available_balance", "total_available_places", "total_cost"), int | Decimal),
    **dict.fromkeys(("completed_at", "id", "name", "participant", "participant_id", "status"), str),
}


def _fits(name: str, value: Any) -> bool:
    """Return True if a field has the kind that readers expect: lists of objects, and no absurd numbers."""
    if isinstance(value, list) and name in _KINDS:
        return _KINDS[name] is list and all(isinstance(row, Fields) for row in value)
    is_sane = not isinstance(value, int | Decimal) or -(10**12) < value < 10**12
    return is_sane and isinstance(value, _KINDS.get(name, object))


@contextmanager
def silence_means(*, done: bool) -> Iterator[None]:
    """Set ``maybe_done`` of an ``Unreachable`` raised in this block, which is only a step of the whole."""
    try:
        yield
    except Unreachable as trouble:
        trouble.maybe_done = done
        raise


@contextmanager
def accept_refusal_if(is_done: Callable[[], bool]) -> Iterator[None]:
    """Ignore a refusal if an earlier request, whose answer was lost, has already done the work."""
    try:
        yield
    except Refused:
        if not any(is_done() for _read in range(READS)):
            raise


class Fields(dict[str, Any]):
    """Fields of one thing in Prolific's answer. One missing or of another kind counts as no answer."""

    def __init__(self, fields: Mapping[str, Any], *, operation: str, writes: bool) -> None:
        super().__init__({name: value for name, value in fields.items() if _fits(name, value)})
        self._operation, self._writes = operation, writes

    def __missing__(self, key: str) -> Any:
        message = _("Prolific’s answer lacks “%(key)s” (%(operation)s).")
        values = {"key": key, "operation": self._operation}
        raise Unreachable(message % values, maybe_done=self._writes)


@dataclass(frozen=True, slots=True)
class Reply:
    """Prolific's answer to a request that it carried out."""

    body: Fields
    headers: Mapping[str, str]


class ProlificClient:
    """Speaks for one API token. Safe to share between threads.

    Requests are repeated when it is certain that nothing was done (no connection, "slow down"), and
    otherwise only when the caller says that doing it twice does no harm.
    """

    def __init__(
        self,
        *,
        token: str,
        api: str = API,
        sleep: Callable[[float], None] = time.sleep,
        is_quick: bool = False,
    ) -> None:
        """``is_quick``: while somebody waits for a page, it is asked once and given a few seconds."""
        self.api = api.rstrip("/")
        self._headers = {"Authorization": f"Token {token}"} if token else {}
        self._sleep = sleep
        self._tries = 1 if is_quick else TRIES
        connect, read = (2.0, 4.0) if is_quick else (5.0, 20.0)
        self._http = urllib3.PoolManager(
            maxsize=4, retries=False, timeout=urllib3.Timeout(connect=connect, read=read)
        )

    def get(self, path: str, **query: Any) -> dict[str, Any]:
        """Send a GET request; it is safe to repeat."""
        return self.reply("GET", f"/api/v1{path}", query=query, repeatable=True).body

    def rows(self, path: str, **query: Any) -> Iterator[dict[str, Any]]:
        """Return every row of a list, of all pages, each once.

        Pages are asked for by number until one is short or missing: Prolific's schema of a list documents
        nothing but its results, no links and no count.
        """
        seen: set[str] = set()
        for page in itertools.count(1):
            try:
                found = self.get(path, **query, page=page, page_size=PAGE_SIZE)["results"]
            except NotFound:
                if page == 1:
                    raise
                return
            new = [row for row in found if row["id"] not in seen]
            seen.update(row["id"] for row in new)
            yield from new
            if not new or len(found) < PAGE_SIZE:
                return

    def post(self, path: str, body: Mapping[str, Any] | None = None, *, repeatable: bool) -> dict[str, Any]:
        """Send a POST request. ``repeatable``: doing it twice has the same effect as doing it once."""
        return self.reply("POST", f"/api/v1{path}", body=body, repeatable=repeatable).body

    def patch(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Send a PATCH request; it is safe to repeat."""
        return self.reply("PATCH", f"/api/v1{path}", body=body, repeatable=True).body

    def delete(self, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Send a DELETE request; it is safe to repeat."""
        return self.reply("DELETE", f"/api/v1{path}", body=body, repeatable=True).body

    @timed("platform_call", platform="prolific")
    def reply(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: Mapping[str, Any] | None = None,
        repeatable: bool,
    ) -> Reply:
        """Return the answer, with numbers as ``Decimal``, and its headers.

        Raise :class:`Refused` and its kinds for what Prolific refuses, and :class:`Unreachable`, which
        knows whether it may have been done.
        """
        address = f"{self.api}{path}" + (f"?{urlencode(query)}" if query else "")
        maybe_done, number = False, 1
        while True:
            answer, wait = self._try(method, address, path, body)
            if isinstance(answer, Reply):
                return answer
            maybe_done = maybe_done or answer.maybe_done
            if number == self._tries or (answer.maybe_done and not repeatable):
                answer.maybe_done = maybe_done
                raise answer
            self._sleep(min(wait if wait is not None else 0.5 * 2**number, LONGEST_PAUSE))
            number += 1

    def _try(
        self, method: str, address: str, path: str, body: Mapping[str, Any] | None
    ) -> tuple[Reply | Unreachable, float | None]:
        """Try once. Return the answer, or the trouble and how long Prolific asks to wait."""
        operation = without_ids(f"{method} {path}")
        writes = method != "GET"
        try:
            reply = self._http.request(method, address, json=body, headers=self._headers, redirect=False)
        except HTTPError as error:
            if _is_unsent(error):
                return Unreachable(_("Prolific cannot be reached (%s).") % operation, maybe_done=False), None
            return Unreachable(_("Prolific did not answer (%s).") % operation, maybe_done=writes), None
        read_fields = partial(Fields, operation=operation, writes=writes)
        try:
            text = reply.data or b"{}"
            answer = json.loads(text, parse_float=Decimal, object_hook=read_fields)
        except (ValueError, ArithmeticError, RecursionError):
            answer = None
        is_readable = isinstance(answer, Fields) or (writes and answer is not None)
        if reply.status < 400 and (reply.status >= 300 or not is_readable):
            # Not Prolific's own: a proxy sends elsewhere, or shows a page of its own.
            unread = _("Prolific’s answer cannot be read (%s).") % operation
            return Unreachable(unread, maybe_done=writes), None
        if reply.status < 300:
            return Reply(answer if isinstance(answer, Fields) else read_fields({}), reply.headers), None
        problem = error_of(reply.status, answer, operation, writes=writes)
        if not isinstance(problem, Unreachable):
            raise problem
        wait = reply.headers.get("Retry-After", "")
        return problem, float(wait) if wait.isdecimal() else None


def _is_unsent(error: HTTPError) -> bool:
    """Return True if the request failed before it left us.

    Of TLS errors only a wrong certificate proves that. After the others the request may have been carried
    out: the connection can break while its response comes in.
    """
    if isinstance(error, SSLError):
        reasons = (error.__cause__, error.__context__, *error.args)
        return any(isinstance(reason, ssl.SSLCertVerificationError) for reason in reasons)
    return isinstance(error, NewConnectionError | ConnectTimeoutError)
