"""Webhooks: subscriptions, and what is sent to them, more than once and in any order."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import random
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from tests.doubles.prolific.rules import Refused

EVENT_TYPES = (
    "study.status.change",
    "study.progress.change",
    "study.has_high_return_rate",
    "submission.status.change",
)


@dataclass(frozen=True)
class Delivery:
    """One request that Prolific makes of a subscriber."""

    url: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Subscription:
    """A wish for one type of event, in force once it was confirmed."""

    id: str
    event_type: str
    target_url: str
    workspace_id: str
    secret: str
    is_enabled: bool = False
    sent: list[dict[str, Any]] = field(default_factory=list)

    def shown(self) -> dict[str, Any]:
        names = ("id", "event_type", "target_url", "workspace_id", "is_enabled")
        return {name: getattr(self, name) for name in names}


class Hooks:
    """The subscriptions of a workspace and the deliveries that are due."""

    def __init__(self, workspace_id: str, new_id: Callable[[str], str], now: Callable[[], datetime]) -> None:
        self.workspace_id = workspace_id
        self.secret: dict[str, str] | None = None
        self.subscriptions: dict[str, Subscription] = {}
        self.due: list[Delivery] = []
        self._new_id = new_id
        self._now = now

    def make_secret(self, workspace_id: str) -> dict[str, str]:
        """A new secret takes the place of the old one."""
        if workspace_id != self.workspace_id:
            raise Refused({"workspace_id": ["Not found."]})
        self.secret = {
            "id": self._new_id("secret"),
            "value": secrets.token_urlsafe(32),
            "workspace_id": workspace_id,
        }
        return self.secret

    def subscribe(self, body: dict[str, Any], *, insecure: bool) -> Subscription:
        if self.secret is None:
            raise Refused("Create a secret for the workspace first.")
        if body.get("event_type") not in EVENT_TYPES or body.get("workspace_id") != self.workspace_id:
            raise Refused({"event_type": ["Not a valid choice."]})
        if not str(body.get("target_url")).startswith("http" if insecure else "https://"):
            raise Refused({"target_url": ["Must use https."]})
        made = Subscription(
            id=self._new_id("subscription"),
            event_type=body["event_type"],
            target_url=body["target_url"],
            workspace_id=body["workspace_id"],
            secret=secrets.token_urlsafe(24),
        )
        self.subscriptions[made.id] = made
        return made

    def emit(self, event_type: str, resource_id: str, **more: Any) -> None:
        """Something happened: sign it for every subscription that wants it."""
        for wanted in self.subscriptions.values():
            if wanted.is_enabled and wanted.event_type == event_type and self.secret:
                payload = {"resource_id": resource_id, "event_type": event_type, **more}
                wanted.sent.append(payload)
                self.due.append(self._signed(wanted.target_url, payload, self.secret["value"]))

    def take_due(self, *, seed: int | None = None, repeat: float = 0.0) -> list[Delivery]:
        """What is due, taken off the list; with a seed shuffled, and this share of it twice."""
        due, self.due = self.due, []
        if seed is None:
            return due
        drawn = random.Random(seed)
        due += [delivery for delivery in due if drawn.random() < repeat]
        drawn.shuffle(due)
        return due

    def _signed(self, url: str, payload: dict[str, Any], secret: str) -> Delivery:
        body = json.dumps(payload).encode()
        sent_at = str(int(self._now().timestamp()))
        digest = hmac.new(secret.encode(), sent_at.encode() + body, hashlib.sha256).digest()
        headers = {
            "Content-Type": "application/json",
            "X-Prolific-Request-Signature": base64.b64encode(digest).decode(),
            "X-Prolific-Request-Timestamp": sent_at,
            "X-Event-ID": self._new_id("event"),
            "X-Timestamp": sent_at,
        }
        return Delivery(url, headers, body)
