"""Platforms' notifications, remembered so that repetitions are known."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from django.core.cache import caches

from recruitment.models import Campaign, WebhookEvent
from recruitment.queue import RECONCILE_TASK, queue_soon

GATHERED = 20
"""Seconds in which all notifications about a campaign come to one look at it on the platform."""
KEPT = timedelta(days=30)
"""Longer than any platform repeats one. A later repetition would only have us look once more."""


def is_new_notification(*, platform: str, event_id: str, now: datetime) -> bool:
    """Remember a notification, and forget those that are too old to come again; whether it is a new one.

    To be called in the transaction that acts on it.
    """
    WebhookEvent.objects.filter(received_at__lt=now - KEPT).delete()
    _event, is_new = WebhookEvent.objects.get_or_create(
        platform=platform, event_id=event_id, defaults={"received_at": now}
    )
    return is_new


def queue_comparison(campaigns: Iterable[Campaign]) -> None:
    """Have campaigns compared with their platform soon, once for all notifications that come together."""
    for campaign in campaigns:
        if caches["shared"].add(f"hinted-{campaign.pk}", 1, timeout=GATHERED):
            queue_soon(RECONCILE_TASK, campaign.pk, after=GATHERED)
