"""What follows from a notification of Mechanical Turk's: looking sooner."""

from __future__ import annotations

from datetime import datetime

from django.core.cache import caches
from django.db import transaction

from accounts.models import PlatformIdentity
from recruitment.actions.hints import is_new_hint
from recruitment.models import Campaign, Visit
from recruitment.mturk.notifications import Hint
from recruitment.queueing import soon

RECONCILE_TASK = "recruitment.tasks.reconcile"
GATHERED = 20
"""Seconds in which all notifications about a campaign come to one look at it on the platform."""


@transaction.atomic
def take_hint(*, hint: Hint, environment: str, now: datetime) -> list[Campaign]:
    """Have the campaigns that it is about compared with Mechanical Turk soon; none, if it has come before.

    Of who left work it is remembered that the platform itself has told of them.
    """
    if not is_new_hint(platform=PlatformIdentity.Platform.MTURK, event_id=hint.event_id, now=now):
        return []
    for hit_assignment, worker in hint.left:
        theirs = Visit.objects.filter(
            platform=PlatformIdentity.Platform.MTURK,
            environment=environment,
            hit_assignment=hit_assignment,
            left_told_at=None,
            enrollment__annotator__identities__platform=PlatformIdentity.Platform.MTURK,
            enrollment__annotator__identities__environment=environment,
            enrollment__annotator__identities__person=worker,
        )
        theirs.update(left_told_at=now)
    about = Campaign.objects.filter(
        postings__remote_id__in=hint.hits,
        platform=PlatformIdentity.Platform.MTURK,
        environment=environment,
    )
    campaigns = list(about.distinct().order_by("pk"))
    for campaign in campaigns:
        if caches["shared"].add(f"hinted-{campaign.pk}", 1, timeout=GATHERED):
            soon(RECONCILE_TASK, campaign.pk, after=GATHERED)
    return campaigns
