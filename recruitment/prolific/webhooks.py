"""Webhooks from Prolific: who sent it, and what it is about. Only ever a hint to look sooner."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass

from recruitment.prolific.arrivals import is_id

SIGNATURE = "X-Prolific-Request-Signature"
TIMESTAMP = "X-Prolific-Request-Timestamp"
EVENT_ID = "X-Event-ID"
EVENT_TYPES = ("submission.status.change", "study.status.change")
"""What we subscribe to."""


class InvalidHook(Exception):
    """It is not from Prolific, or says nothing that we could use."""


@dataclass(frozen=True, slots=True)
class Hint:
    """Something has changed: a submission (``submission.status.change``) or a study."""

    event_id: str
    event_type: str
    resource: str


def signature_of(secret: str, timestamp: str, body: bytes) -> str:
    """Base64 of the HMAC-SHA256 of the timestamp followed by the body, as sent."""
    digest = hmac.new(secret.encode(), timestamp.encode() + body, hashlib.sha256).digest()
    return base64.b64encode(digest).decode()


def read_hook(headers: Mapping[str, str], body: bytes, *, secret: str) -> Hint:
    """The hint in a request. Raises :class:`InvalidHook` for one that Prolific did not sign.

    An old request is taken too: it can say nothing but where to look, and repetitions are known by their id.
    """
    timestamp = headers.get(TIMESTAMP, "")
    expected = signature_of(secret, timestamp, body)
    signed = hmac.compare_digest(expected.encode(), headers.get(SIGNATURE, "").encode())
    if not secret or not timestamp or not signed:
        raise InvalidHook
    try:
        said = json.loads(body)
        event_type, resource = said["event_type"], said["resource_id"]
    except (ValueError, KeyError, TypeError) as error:
        raise InvalidHook from error
    event_id = headers.get(EVENT_ID, "")
    if not isinstance(event_type, str) or not isinstance(resource, str) or not is_id(resource):
        raise InvalidHook
    if not event_id or len(event_id) > 100:
        raise InvalidHook
    return Hint(event_id=event_id, event_type=event_type, resource=resource)
