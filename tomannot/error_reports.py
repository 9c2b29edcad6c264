"""Send errors to Sentry, without personal data and credentials."""

import json

import sentry_sdk
from sentry_sdk.types import Event, Hint

from tomannot.log_masking import mask_tokens


def start(dsn: str) -> None:
    """Report errors of this process from now on. Nothing is traced, and no other server gets a header."""
    sentry_sdk.init(
        dsn=dsn,
        before_send=without_people,
        send_default_pii=False,
        include_local_variables=False,
        max_request_body_size="never",
        max_breadcrumbs=0,
        trace_propagation_targets=[],
    )


def without_people(event: Event, _hint: Hint) -> Event:
    """Return the event with its texts masked, and of the request only method and path."""
    event.pop("user", None)
    request = event.pop("request", {})
    event["request"] = {name: request[name] for name in ("method", "url") if name in request}
    masked: Event = json.loads(mask_tokens(json.dumps(event, default=str)))
    return masked
