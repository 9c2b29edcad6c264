"""Background work of this room."""

from __future__ import annotations

import logging

from celery.exceptions import SoftTimeLimitExceeded
from django.utils import timezone

from publishing import actions
from publishing.errors import PublishingError
from publishing.models import Release
from publishing.side_by_side import keeping, making
from tomannot.celery import task

logger = logging.getLogger(__name__)

BUILD_HOURS = 4
COMPARE_MINUTES = 25


@task(time_limit=BUILD_HOURS * 3600)
def build_release(release_id: int) -> None:
    """Build and publish a release that was asked for."""
    try:
        actions.build_release(release_id=release_id, now=timezone.now())
    except SoftTimeLimitExceeded:
        reason = (
            f"Building took longer than {BUILD_HOURS} hours and was stopped. "
            "Look at the load of the database and of the disk, then ask for the release again."
        )
        actions.fail_release(release_id=release_id, reason=reason, now=timezone.now())


@task(time_limit=60)
def resume_releases() -> None:
    """Take up releases whose worker went away."""
    actions.resume_releases(now=timezone.now())


@task(time_limit=COMPARE_MINUTES * 60)
def compare_releases(before_id: int, now_id: int) -> None:
    """Work out how two releases of a study differ, and keep it, or why that cannot be done."""
    releases = Release.objects.select_related("study")
    before, now = releases.get(pk=before_id), releases.get(pk=now_id)
    try:
        making.make(before, now)
        keeping.done(before, now)
    except (PublishingError, OSError) as error:
        keeping.done(before, now, failure=str(error))
    except SoftTimeLimitExceeded:
        reason = (
            f"Comparing took longer than {COMPARE_MINUTES} minutes and was stopped. Look at the load of the "
            "disk; in half an hour this page asks again."
        )
        keeping.done(before, now, failure=reason, is_lasting=True)
    except Exception as error:
        # Whoever looks at the page must not be told that somebody is at it.
        logger.exception("Releases %s and %s could not be compared", before, now)
        reason = f"A fault in comparing: {error} ({type(error).__name__}). The worker's log says where."
        keeping.done(before, now, failure=reason, is_lasting=True)
