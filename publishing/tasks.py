"""Background work of this room."""

from __future__ import annotations

from celery.exceptions import SoftTimeLimitExceeded
from django.utils import timezone

from publishing import actions
from tomannot.celery import task

BUILD_HOURS = 4


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
