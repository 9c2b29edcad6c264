"""Look sooner, after a notification from Prolific."""

from datetime import datetime

from django.db import transaction
from django.db.models import Q

from accounts.models import PlatformIdentity
from recruitment.actions.notifications import is_new_notification, queue_comparison
from recruitment.models import Campaign
from recruitment.prolific.webhooks import Hint


@transaction.atomic
def handle_notification(*, hint: Hint, environment: str, now: datetime) -> list[Campaign]:
    """Have the campaigns of a notification compared soon; none if it has come before.

    Nothing it says is believed: Prolific is asked.
    """
    if not is_new_notification(platform=PlatformIdentity.Platform.PROLIFIC, event_id=hint.event_id, now=now):
        return []
    about = Campaign.objects.filter(
        Q(remote_id=hint.resource) | Q(visits__hit_assignment=hint.resource),
        platform=PlatformIdentity.Platform.PROLIFIC,
        environment=environment,
    ).exclude(remote_id="")
    campaigns = list(about.distinct().order_by("pk"))
    queue_comparison(campaigns)
    return campaigns
