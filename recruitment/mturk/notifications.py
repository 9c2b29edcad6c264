"""Notifications by Amazon SNS: what to subscribe to, and their contents. Only hints to look.

They came more than once, in no order, and for years without the worker's id; what is there is asked for.
SNS itself goes on, so the address that it posts to is protected by a password (HTTP basic authentication,
which SNS knows): without one nothing is taken in.
"""

import base64
import hmac
import json
import logging
import re
from collections.abc import Mapping
from typing import Any

from recruitment.mturk.arrivals import ENTITY
from recruitment.platforms import Hint, InvalidHook

logger = logging.getLogger(__name__)
EVENT_TYPES = ("AssignmentSubmitted", "AssignmentReturned", "AssignmentAbandoned", "HITReviewable")
LEFT = ("AssignmentReturned", "AssignmentAbandoned")
VERSION = "2014-08-15"
CONFIRMATION = "SubscriptionConfirmation"
ADDRESS = re.compile(r"https://sns\.[a-z0-9-]+\.amazonaws\.com/\?[A-Za-z0-9=&:%._-]+")
USER = "tomannot"
LONGEST_ID = 100


def specification(topic: str) -> dict[str, Any]:
    """Return the NotificationSpecification that has Mechanical Turk tell the SNS topic with this ARN."""
    return {"Destination": topic, "Transport": "SNS", "Version": VERSION, "EventTypes": list(EVENT_TYPES)}


def read_hook(headers: Mapping[str, str], body: bytes, *, password: str, topic: str) -> Hint | None:
    """Return the hint in a request of SNS's; None for its question whether it may post here.

    An operator opens the address in the log to agree. Raise :class:`InvalidHook` without the password, which
    SNS sends once it is asked for it, and for a message that is not of our topic.
    """
    expected = "Basic " + base64.b64encode(f"{USER}:{password}".encode()).decode()
    given = headers.get("Authorization", "")
    if not password or not hmac.compare_digest(expected.encode(), given.encode()):
        raise InvalidHook(401, **{"WWW-Authenticate": 'Basic realm="tomannot"'})
    return read_notification(body, topic=topic)


def read_notification(body: bytes, *, topic: str) -> Hint | None:
    """Return the hint in what SNS posts; None if it asks for a confirmation, whose address is logged.

    Raise :class:`InvalidHook` for anything else.
    """
    try:
        envelope = json.loads(body)
        kind, is_ours = envelope["Type"], envelope["TopicArn"] == topic
        if is_ours and kind == CONFIRMATION and ADDRESS.fullmatch(envelope["SubscribeURL"]):
            url = envelope["SubscribeURL"]
            logger.warning("Open this address to let SNS post notifications here: %s", url)
            return None
        if not is_ours or kind != "Notification":
            raise ValueError
        document = json.loads(envelope["Message"])
        event_id = document["EventDocId"]
        hits = {event["HITId"] for event in document["Events"]}
        left = {
            (event["AssignmentId"], event["WorkerId"])
            for event in document["Events"]
            if event["EventType"] in LEFT and "WorkerId" in event  # for years it was not told
        }
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        logger.warning("A message was refused: it is not a notification of the configured topic.")
        raise InvalidHook(400) from error
    named = [*hits, *(one for pair in left for one in pair)]
    is_readable = all(isinstance(one, str) and ENTITY.fullmatch(one) for one in named)
    is_named = isinstance(event_id, str) and event_id.isprintable() and 0 < len(event_id) <= LONGEST_ID
    if not is_readable or not is_named:
        raise InvalidHook(400)
    return Hint(event_id, tuple(sorted(hits)), tuple(sorted(left)))
