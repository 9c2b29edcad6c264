"""What follows from a notification of Prolific's: looking sooner."""

from __future__ import annotations

from datetime import datetime

from django.core.cache import caches
from django.db import transaction
from django.db.models import Q

from accounts.models import PlatformIdentity
from recruitment.actions.hints import is_new_hint
from recruitment.models import Campaign
from recruitment.prolific.webhooks import Hint
from recruitment.queueing import soon

RECONCILE_TASK = "recruitment.tasks.reconcile"
GATHERED = 20
"""Seconds in which all notifications about a campaign come to one look at it on the platform."""


@transaction.atomic
def take_hint(*, hint: Hint, environment: str, now: datetime) -> list[Campaign]:
    """Have the campaigns that it is about compared with Prolific soon; none, if it has come before.

    Nothing that it says is believed: what is there is asked for.
    """
    if not is_new_hint(platform=PlatformIdentity.Platform.PROLIFIC, event_id=hint.event_id, now=now):
        return []
    about = Campaign.objects.filter(
        Q(remote_id=hint.resource) | Q(visits__hit_assignment=hint.resource),
        platform=PlatformIdentity.Platform.PROLIFIC,
        environment=environment,
    ).exclude(remote_id="")
    campaigns = list(about.distinct().order_by("pk"))
    for campaign in campaigns:
        if caches["shared"].add(f"hinted-{campaign.pk}", 1, timeout=GATHERED):
            soon(RECONCILE_TASK, campaign.pk, after=GATHERED)
    return campaigns
