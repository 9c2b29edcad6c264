"""Notifications of platforms that have been taken in, so that a repetition is known."""

from __future__ import annotations

from datetime import datetime, timedelta

from recruitment.models import WebhookEvent

KEPT = timedelta(days=30)
"""Longer than any platform repeats one. A later repetition would only have us look once more."""


def is_new_hint(*, platform: str, event_id: str, now: datetime) -> bool:
    """Remember a notification, and forget those that are too old to come again; whether it is a new one.

    To be called in the transaction that acts on it.
    """
    WebhookEvent.objects.filter(received_at__lt=now - KEPT).delete()
    _event, is_new = WebhookEvent.objects.get_or_create(
        platform=platform, event_id=event_id, defaults={"received_at": now}
    )
    return is_new
