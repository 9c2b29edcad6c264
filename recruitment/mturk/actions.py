"""Look sooner, after a notification from Mechanical Turk."""

from datetime import datetime

from django.db import transaction

from accounts.models import PlatformIdentity
from recruitment.actions.notifications import is_new_notification, queue_comparison
from recruitment.models import Campaign, Visit
from recruitment.mturk.notifications import Hint


@transaction.atomic
def handle_notification(*, hint: Hint, environment: str, now: datetime) -> list[Campaign]:
    """Have the campaigns of a notification compared soon; none if it has come before.

    Note that the platform itself has told who left work.
    """
    if not is_new_notification(platform=PlatformIdentity.Platform.MTURK, event_id=hint.event_id, now=now):
        return []
    for hit_assignment, worker in hint.left:
        theirs = Visit.objects.filter(
            platform=PlatformIdentity.Platform.MTURK,
            environment=environment,
            hit_assignment=hit_assignment,
            return_reported_at=None,
            enrollment__annotator__identities__platform=PlatformIdentity.Platform.MTURK,
            enrollment__annotator__identities__environment=environment,
            enrollment__annotator__identities__person=worker,
        )
        theirs.update(return_reported_at=now)
    about = Campaign.objects.filter(
        postings__remote_id__in=hint.hits,
        platform=PlatformIdentity.Platform.MTURK,
        environment=environment,
    )
    campaigns = list(about.distinct().order_by("pk"))
    queue_comparison(campaigns)
    return campaigns
