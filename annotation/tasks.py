"""Background work of this room: ids in, load, one call."""

from __future__ import annotations

from django.utils import timezone

from annotation import actions
from annotation.errors import ImportRefused
from annotation.importing.progress import tell_progress
from tomannot.celery import task


@task(time_limit=3600)
def run_import(story_import_id: int) -> str:
    """Import a queued file, telling how far it has come. Returns the state the import ended in."""
    try:
        job = actions.run_import(
            story_import_id=story_import_id,
            now=timezone.now(),
            progress=lambda read: tell_progress(story_import_id, read),
        )
    except ImportRefused:
        return "refused"  # the reasons are stored with the import, where the researcher reads them
    return str(job.state)


@task(time_limit=50)
def resume_imports() -> int:
    """Have a worker take up imports whose worker or message went away; returns how many."""
    return actions.resume_imports(now=timezone.now())


@task(time_limit=50)
def sweep_import_files() -> int:
    """Delete uploaded story files about which all is decided; returns how many."""
    return actions.sweep_import_files(now=timezone.now())


@task(time_limit=50)
def release_expired_leases() -> int:
    """Free the slots of leases that ran out; returns how many."""
    return actions.release_expired_leases(now=timezone.now())
