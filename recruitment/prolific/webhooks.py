"""Webhooks from Prolific: subscribing, their signature and contents. Only hints to look sooner."""

import base64
import hashlib
import hmac
import json
from collections.abc import Mapping

from recruitment.platforms import Hint, InvalidHook
from recruitment.prolific.arrivals import is_id
from recruitment.prolific.client import ProlificClient

SIGNATURE = "X-Prolific-Request-Signature"
TIMESTAMP = "X-Prolific-Request-Timestamp"
EVENT_ID = "X-Event-ID"
HOOK_SECRET = "X-Hook-Secret"  # noqa: S105  # the name of a header
LONGEST_ID = 100
EVENT_TYPES = ("submission.status.change", "study.status.change")
"""Events that we subscribe to."""


def signature_of(secret: str, timestamp: str, body: bytes) -> str:
    """Return Base64 of the HMAC-SHA256 of the timestamp followed by the body, as sent."""
    digest = hmac.new(secret.encode(), timestamp.encode() + body, hashlib.sha256).digest()
    return base64.b64encode(digest).decode()


def read_hook(headers: Mapping[str, str], body: bytes, *, secret: str) -> Hint:
    """Return the hint in a request. Raise :class:`InvalidHook` for one that Prolific did not sign.

    Old requests are accepted too: they only say where to look, and repetitions are known by their id.
    """
    timestamp = headers.get(TIMESTAMP, "")
    expected = signature_of(secret, timestamp, body)
    signed = hmac.compare_digest(expected.encode(), headers.get(SIGNATURE, "").encode())
    if not secret or not timestamp or not signed:
        raise InvalidHook(403)
    try:
        resource = json.loads(body)["resource_id"]
    except (ValueError, KeyError, TypeError) as error:
        raise InvalidHook(403) from error
    event_id = headers.get(EVENT_ID, "")
    if not isinstance(resource, str) or not is_id(resource) or not 0 < len(event_id) <= LONGEST_ID:
        raise InvalidHook(403)
    return Hint(event_id, (resource,))


def subscribe(client: ProlificClient, *, workspace: str, address: str) -> str:
    """Have Prolific post to the address from now on; returns the secret with which it signs.

    A workspace has one secret: one that is there is kept, since others may rely on it. What is subscribed to
    already is left alone. Raises the errors of ``recruitment.marketplace``.
    """
    secret = _secret(client, workspace)
    found = client.get("/hooks/subscriptions/", workspace_id=workspace, is_enabled="true")["results"]
    there = {row["event_type"] for row in found if row["target_url"] == address}
    for event_type in EVENT_TYPES:
        if event_type not in there:
            _subscribe(client, workspace, event_type, address)
    return secret


def _secret(client: ProlificClient, workspace: str) -> str:
    found = client.get("/hooks/secrets/", workspace_id=workspace)["results"]
    if not found:
        found = [client.post("/hooks/secrets/", {"workspace_id": workspace}, repeatable=False)]
    return str(found[0]["value"])


def _subscribe(client: ProlificClient, workspace: str, event_type: str, address: str) -> None:
    """Ask, and confirm with the secret that only the answer's header has."""
    wanted = {"workspace_id": workspace, "event_type": event_type, "target_url": address}
    made = client.reply("POST", "/api/v1/hooks/subscriptions/", body=wanted, repeatable=False)
    confirmation = {"secret": made.headers[HOOK_SECRET]}
    client.post(f"/hooks/subscriptions/{made.body['id']}/", confirmation, repeatable=True)
