"""Celery tasks of this room."""

import logging

from celery.exceptions import SoftTimeLimitExceeded

from accounts.errors import DomainError
from publishing import previews
from publishing.actions import releases as actions
from publishing.comparison import store
from publishing.models import Release
from tomannot import clock
from tomannot.celery import LONGEST_JOB, task

logger = logging.getLogger(__name__)

BUILD_HOURS = 4
COMPARE_MINUTES = 25


@task(time_limit=BUILD_HOURS * 3600)
def build_release(release_id: int) -> None:
    try:
        actions.build_release(release_id=release_id, now=clock.now())
    except SoftTimeLimitExceeded:
        reason = (
            f"Building took longer than {BUILD_HOURS} hours and was stopped. "
            "Check the load of the database and the disk, then request the release again."
        )
        actions.fail_release(release_id=release_id, reason=reason, now=clock.now())


@task(time_limit=COMPARE_MINUTES * 60)
def preview_release(study_id: int, filter_name: str) -> None:
    """Build the private preview of a study's next release."""
    previews.build(study_id=study_id, filter_name=filter_name, now=clock.now())


@task(time_limit=60)
def resume_releases() -> None:
    """Resume releases whose worker is gone."""
    actions.resume_releases(now=clock.now())


@task(time_limit=COMPARE_MINUTES * 60)
def compare_releases(before_id: int, now_id: int) -> None:
    """Compare two releases of a study, and record the outcome or the failure."""
    releases = Release.objects.select_related("study")
    before, now = releases.get(pk=before_id), releases.get(pk=now_id)
    failure, shown_for = "", LONGEST_JOB  # most failures would recur at once and cost worker time
    try:
        store.compare(before, now)
    except (DomainError, OSError) as error:
        failure, shown_for = str(error), store.REFUSED_FOR
    except SoftTimeLimitExceeded:
        failure = (
            f"Comparing took longer than {COMPARE_MINUTES} minutes and was stopped. Check the load of the "
            "disk. In half an hour, opening this page tries again."
        )
    except Exception as error:
        # The page must not claim that the comparison is still running.
        logger.exception("Releases %s and %s could not be compared", before, now)
        failure = f"A fault in the comparison: {error} ({type(error).__name__}). The worker's log says where."
    store.job_of(before, now).finish(failure, shown_for=shown_for)
