"""Notifications as MTurk sends them: more than once, out of order, sometimes without the worker's id."""

from __future__ import annotations

import json
import uuid
from random import Random
from typing import Any

from tests.doubles.mturk.rows import Subscription


class Post:
    """What is on its way to the subscribers. ``collect`` is the delivery."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._bag: list[dict[str, Any]] = []
        self.subscriptions: dict[str, Subscription] = {}
        self.repeated, self.without_worker = 0.2, 0.3  # shares

    def add(self, hit_type_id: str, event: dict[str, str], *, customer: str) -> None:
        """Put an event into the bag when somebody wants it."""
        wanted = self.subscriptions.get(hit_type_id)
        if wanted is None or not wanted.active or event["EventType"] not in wanted.event_types:
            return
        self.send(wanted, event, customer=customer)

    def send(self, to: Subscription, event: dict[str, str], *, customer: str) -> None:
        if self._random.random() < self.without_worker:
            event.pop("WorkerId", None)
        document = {
            "Events": [event],
            "EventDocId": str(uuid.UUID(int=self._random.getrandbits(128))),
            "SourceAccount": "000000000000",
            "CustomerId": customer,
            "EventDocVersion": to.version,
        }
        self._bag.append(_message(to, document))
        if self._random.random() < self.repeated:
            self._bag.append(_message(to, document))

    def collect(self) -> list[dict[str, Any]]:
        """All messages not collected yet, in no order, some of them twice."""
        bag, self._bag = self._bag, []
        self._random.shuffle(bag)
        return bag


def _message(to: Subscription, document: dict[str, Any]) -> dict[str, Any]:
    """The envelope in which SNS brings a message by HTTP; only ``Message`` is MTurk's."""
    return {
        "Type": "Notification",
        "MessageId": str(uuid.uuid4()),
        "TopicArn": to.destination,
        "Message": json.dumps(document),
        "Timestamp": document["Events"][0]["EventTimestamp"],
    }
