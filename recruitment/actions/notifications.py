"""Take in platforms' notifications: look at the campaigns sooner. Nothing that they say moves money."""

from datetime import datetime, timedelta

from django.core.cache import caches
from django.db import transaction
from django.db.models import Q

from recruitment.models import Campaign, Visit
from recruitment.platforms import Hint
from recruitment.queue import RECONCILE_TASK, queue_soon

GATHERED = 20
"""Seconds in which all notifications about a campaign lead to one comparison."""
REMEMBERED = timedelta(days=30)
"""Longer than any platform repeats a notification."""


@transaction.atomic
def handle_notification(*, platform: str, environment: str, hint: Hint, now: datetime) -> list[Campaign]:
    """Have a notification's campaigns compared soon; none if it has come before.

    Note which visits the platform reports as returned.
    """
    cache, seen = caches["shared"], f"notification:{platform}:{hint.event_id}"
    if cache.get(seen):
        return []
    here = {"platform": platform, "environment": environment}
    for work, person in hint.returned:
        identity = {f"enrollment__annotator__identities__{name}": value for name, value in here.items()}
        identity["enrollment__annotator__identities__person"] = person
        visits = Visit.objects.filter(**here, **identity, remote_id=work, return_reported_at=None)
        visits.update(return_reported_at=now)
    named = Q(remote_id__in=hint.about) | Q(postings__remote_id__in=hint.about)
    named |= Q(visits__remote_id__in=hint.about)
    campaigns = list(Campaign.objects.filter(named, **here).distinct().order_by("pk"))
    for campaign in campaigns:
        if cache.add(f"hinted-{campaign.pk}", 1, timeout=GATHERED):
            queue_soon(RECONCILE_TASK, campaign.pk, after=GATHERED)
    cache.set(seen, 1, timeout=REMEMBERED.total_seconds())
    return campaigns
