"""Run import jobs to their end, whatever happens to the worker meanwhile.

A file may be checked first (``dry_run``): its record says what importing it would do, and the file is kept
until somebody imports or cancels it, at most for :data:`DECIDE_WITHIN`.

Every job ends imported, checked, or refused with its reasons, even if the broker was down, a message came
twice, or the worker was killed: one session at a time works on it (see ``annotation.locks``), and a sweep
resumes jobs that nobody works on. A job is tried three times at most.
"""

import contextlib
import shutil
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from celery.exceptions import SoftTimeLimitExceeded
from django.conf import settings
from django.core.files import File
from django.db import InterfaceError, OperationalError, transaction
from django.utils.translation import gettext as _

from accounts.models import User, locked
from annotation import locks
from annotation.actions.events import record_event
from annotation.actions.story_files import Progress, store_file
from annotation.errors import ImportRefused, WrongState
from annotation.importing.rows import Problem
from annotation.models import Event, ImportProblem, Story, StoryImport, Study
from tomannot import clock
from tomannot.celery import app

IMPORT_TASK = "annotation.tasks.run_import"
STALLED_AFTER = timedelta(minutes=1)
"""The time an import may wait for a worker before the sweep queues it again."""
MOST_TRIES = 3
DECIDE_WITHIN = timedelta(days=1)
"""The time a checked file is kept until somebody decides about it."""
UNFINISHED = (StoryImport.State.QUEUED, StoryImport.State.RUNNING)
DECIDED = (StoryImport.State.IMPORTED, StoryImport.State.REFUSED, StoryImport.State.CANCELLED)
_KEPT = ("line", "column", "message", "remedy")
KEPT_AFTER = timedelta(hours=1)
"""The time the file of a finished import is kept; afterwards only its name and hash remain."""


def import_stories(
    *,
    study: Study,
    path: Path,
    by: User | None,
    now: datetime,
    name: str = "",
    role: Story.Role = Story.Role.MAIN,
    license: str = "",
    dry_run: bool = False,
    progress: Progress | None = None,
) -> StoryImport:
    """Import a file from disk now. ``progress`` receives the number of stories read so far.

    Wait while another file is imported into the study. Return the import's record. Raise
    :class:`ImportRefused` with all problems of the file; then only the record of the refusal is stored.
    """
    named = (name or path.name)[:200]
    job = _record_import(study, by, now, role=role, file_name=named, license=license, dry_run=dry_run)
    return run_import(story_import_id=job.pk, path=path, now=now, progress=progress)


def _record_import(study: Study, by: User | None, now: datetime, **fields: Any) -> StoryImport:
    return StoryImport.objects.create(study=study, requested_by=by, requested_at=now, **fields)


@transaction.atomic
def queue_import(
    *,
    study: Study,
    file: "File[bytes]",
    by: User | None,
    now: datetime,
    role: Story.Role = Story.Role.MAIN,
    license: str = "",
    dry_run: bool = False,
) -> StoryImport:
    """Keep an uploaded file and let a Celery worker import it."""
    name = Path(file.name or "upload").name[:200]
    job = _record_import(
        study, by, now, role=role, file_name=name, file=file, license=license, dry_run=dry_run
    )
    enqueue_import(story_import_id=job.pk)
    return job


def enqueue_import(*, story_import_id: int) -> None:
    """Queue the import for a worker once the surrounding transaction is committed.

    If the broker cannot be reached, log it; the sweep queues the import again.
    """
    transaction.on_commit(lambda: app.send_task(IMPORT_TASK, args=[story_import_id]), robust=True)


@transaction.atomic
def import_checked(*, story_import: StoryImport, by: User | None, now: datetime) -> StoryImport:
    """Queue the import of a checked file. Calling it twice imports it once.

    Raise :class:`WrongState` for an import that was cancelled or refused, or whose file is gone.
    """
    job = locked(story_import, "study")
    if (job.state in UNFINISHED and not job.dry_run) or job.state == StoryImport.State.IMPORTED:
        return job
    if job.state != StoryImport.State.CHECKED or not job.file:
        text = _("“%(file)s” cannot be imported: it is %(state)s. Upload it again.")
        raise WrongState(text, file=job.file_name, state=job.get_state_display())
    job.state = StoryImport.State.QUEUED
    job.dry_run = False
    job.requested_by, job.requested_at, job.finished_at = by, now, None
    job.tries = job.rows_read = job.stories_added = job.stories_unchanged = job.findings = 0
    job.findings_by_code = {}
    job.save()
    enqueue_import(story_import_id=job.pk)
    return job


@transaction.atomic
def cancel_import(*, story_import: StoryImport, by: User | None, now: datetime) -> StoryImport:
    """Discard a checked file without importing it; its record stays.

    Raise :class:`WrongState` once it is being imported, and while it is being checked.
    """
    job = locked(story_import, "study")
    if job.state == StoryImport.State.CANCELLED:
        return job
    if job.state != StoryImport.State.CHECKED:
        text = _("“%(file)s” cannot be cancelled: it is %(state)s.")
        raise WrongState(text, file=job.file_name, state=job.get_state_display())
    job.state = StoryImport.State.CANCELLED
    job.save(update_fields=["state"])
    event, subject = Event.Type.IMPORT_CANCELLED, f"import {job.pk}"
    record_event(study=job.study, type=event, by=by, now=now, subject=subject, note=job.file_name)
    transaction.on_commit(lambda: _drop_file(job), robust=True)
    return job


def sweep_import_files(*, now: datetime) -> int:
    """Cancel checked imports that nobody decided about in time, and delete the files of finished imports.

    Return the number of files. Safe to repeat: a file is deleted before its record loses its path.
    """
    late = StoryImport.objects.filter(state=StoryImport.State.CHECKED, finished_at__lte=now - DECIDE_WITHIN)
    for job in late.exclude(file=""):
        with contextlib.suppress(WrongState):  # somebody has decided just now
            cancel_import(story_import=job, by=None, now=now)
    decided = StoryImport.objects.filter(state__in=DECIDED, finished_at__lte=now - KEPT_AFTER)
    return sum(_drop_file(job) for job in decided.exclude(file=""))


def _drop_file(job: StoryImport) -> int:
    """Delete the file, then clear its path in the record. Return the number of records changed."""
    job.file.delete(save=False)
    return StoryImport.objects.filter(pk=job.pk).update(file="")


def resume_imports(*, now: datetime) -> int:
    """Queue every import that should be running and is not. Return how many."""
    waiting = StoryImport.objects.filter(state__in=UNFINISHED, requested_at__lte=now - STALLED_AFTER)
    stalled = set(waiting.values_list("pk", flat=True)) - locks.held(locks.IMPORT)
    for pk in sorted(stalled):
        enqueue_import(story_import_id=pk)
    return len(stalled)


def run_import(
    *, story_import_id: int, now: datetime, path: Path | None = None, progress: Progress | None = None
) -> StoryImport:
    """Import a queued file, or that at ``path``. Safe to repeat, and to be killed at any instant.

    Return the record, also if the import is finished or another session works on it. Raise
    :class:`ImportRefused` for a file that is refused, also after too many tries. Raise a lost database
    connection or the task's time limit, and leave the import to be resumed. Any other error is a bug in
    tomannot: refuse the import and raise the error, so that it is logged. Must not run in a transaction.
    """
    with locks.alone(locks.IMPORT, story_import_id) as ours:
        job = StoryImport.objects.select_related("study").get(pk=story_import_id)
        if not ours or job.state not in UNFINISHED:
            return job
        with contextlib.ExitStack() as stack:
            try:
                path = path or stack.enter_context(_kept_file(job))
            except ImportRefused as refusal:
                _refuse(job, refusal)
                raise
            stack.enter_context(locks.one_file(job.study_id))
            return _run(job, path, now=now, progress=progress or (lambda read: None))


@contextlib.contextmanager
def _kept_file(job: StoryImport) -> Iterator[Path]:
    """Yield the path of the uploaded file, or of a copy if uploads are in the shared store.

    Raise :class:`ImportRefused` if the import must not be tried again, or what boto3 raises.
    """
    if not job.file:
        message, remedy = "The command that imported this file was interrupted.", "Run it again."
    elif job.tries >= MOST_TRIES:
        message = f"The import was begun {job.tries} times and never came to its end."
        remedy = (
            "The worker's log says why: it was stopped, lost its database, or needed more than an hour. "
            "Give a large file in several parts, or import it with manage.py import_stories."
        )
    elif not job.file.storage.exists(name := str(job.file.name)):
        if settings.STORAGE_URL:
            # Raises if the whole bucket is missing: then the file may be there.
            job.file.storage.listdir(name)
        message, remedy = "The uploaded file is gone.", "Upload it again."
    elif settings.STORAGE_URL:
        with NamedTemporaryFile(prefix="tomannot-import-") as copy, job.file.open() as file:
            shutil.copyfileobj(file, copy)
            copy.flush()
            yield Path(copy.name)
        return
    else:
        yield Path(job.file.path)
        return
    raise ImportRefused([Problem(job.file_name, 0, "", message, remedy)], 1)


def _run(job: StoryImport, path: Path, *, now: datetime, progress: Progress) -> StoryImport:
    job.state = StoryImport.State.RUNNING
    job.tries += 1
    job.save(update_fields=["state", "tries"])
    try:
        with transaction.atomic():
            store_file(job=job, path=path, now=now, progress=progress)
            if job.dry_run:
                transaction.set_rollback(True)
    except ImportRefused as refusal:
        _refuse(job, refusal)
        raise
    except SoftTimeLimitExceeded:
        StoryImport.objects.filter(pk=job.pk).update(state=StoryImport.State.QUEUED)
        raise
    except (OperationalError, InterfaceError):
        raise  # the database may be away; the sweep finds the import whatever its state says
    except Exception as error:
        message = f"A fault in tomannot: {type(error).__name__}: {error}."
        remedy = "The log of the worker (or of the command) says where. Nothing of the file was stored."
        _refuse(job, ImportRefused([Problem(job.file_name, 0, "", message.replace("\0", ""), remedy)], 1))
        raise
    if job.dry_run:
        job.state = StoryImport.State.CHECKED
        job.finished_at = clock.now()
        job.save()
    return job


@transaction.atomic
def _refuse(job: StoryImport, refusal: ImportRefused) -> None:
    job.state = StoryImport.State.REFUSED
    job.stories_added = job.findings = 0
    job.findings_by_code = {}
    job.problems_found = refusal.total
    job.finished_at = clock.now()
    job.save()
    job.problems.all().delete()
    stored = (
        ImportProblem(story_import=job, field=one.field[:100], **{name: getattr(one, name) for name in _KEPT})
        for one in refusal.problems
    )
    ImportProblem.objects.bulk_create(stored, batch_size=1000)
    by, now, subject = job.requested_by, job.finished_at, f"import {job.pk}"
    note = f"{job.file_name}: {refusal.total} problems"
    record_event(study=job.study, type=Event.Type.IMPORT_REFUSED, by=by, now=now, subject=subject, note=note)
