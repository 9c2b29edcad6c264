"""Celery tasks of this room. Each loads its rows and calls one action."""

from annotation import actions
from annotation.errors import ImportRefused
from annotation.importing.progress import tell_progress
from tomannot import clock
from tomannot.celery import task


@task(time_limit=3600)
def run_import(story_import_id: int) -> str:
    """Import a queued file and report its progress. Return the final state."""
    try:
        job = actions.run_import(
            story_import_id=story_import_id,
            now=clock.now(),
            progress=lambda read: tell_progress(story_import_id, read),
        )
    except ImportRefused:
        return "refused"  # the reasons are stored with the import, where the researcher reads them
    return str(job.state)


@task(time_limit=50)
def resume_imports() -> int:
    """Queue imports again whose worker or message was lost. Return how many."""
    return actions.resume_imports(now=clock.now())


@task(time_limit=50)
def sweep_import_files() -> int:
    """Delete uploaded files of finished imports. Return how many."""
    return actions.sweep_import_files(now=clock.now())


@task(time_limit=50)
def release_expired_leases() -> int:
    """Free the slots of expired leases. Return how many."""
    return actions.release_expired_leases(now=clock.now())
