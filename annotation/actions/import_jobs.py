"""From the request to import a file to its end, whatever happens to the worker in between.

A file may be checked first (``dry_run``): its record says what would come of it, and the file is kept
until somebody has it imported or cancels, at most for :data:`DECIDE_WITHIN`.

An import that was asked for ends imported, checked or refused with its reasons, also when the broker
was away, a message came twice or the worker was killed: one session at a time works on it (see
``annotation.locks``), and the sweep has a worker take up what nobody works on. It is begun three
times at the most.
"""

from __future__ import annotations

import contextlib
from datetime import datetime, timedelta
from pathlib import Path

from celery.exceptions import SoftTimeLimitExceeded
from django.core.files import File
from django.db import InterfaceError, OperationalError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import User
from annotation import locks
from annotation.actions.events import record_event
from annotation.actions.importing import Progress, store_file
from annotation.errors import ImportRefused, WrongState
from annotation.importing.problems import Problem
from annotation.models import Event, ImportProblem, Story, StoryImport, Study
from tomannot.celery import app

IMPORT_TASK = "annotation.tasks.run_import"
STALLED_AFTER = timedelta(minutes=1)
"""How long an import may wait for a worker before the sweep asks again."""
MOST_TRIES = 3
DECIDE_WITHIN = timedelta(days=1)
"""How long a checked file is kept for somebody to decide about it."""
UNFINISHED = (StoryImport.State.QUEUED, StoryImport.State.RUNNING)
DECIDED = (StoryImport.State.IMPORTED, StoryImport.State.REFUSED, StoryImport.State.CANCELLED)
KEPT_AFTER = timedelta(hours=1)
"""How long the file of a decided import stays; what is left of it then are its name and hash."""


def import_stories(
    *,
    study: Study,
    path: Path,
    by: User | None,
    now: datetime,
    name: str = "",
    role: Story.Role = Story.Role.MAIN,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> StoryImport:
    """Import a file from disk, here and now. ``progress`` is told the number of stories read so far.

    Waits while another file comes into the study. Returns the import's record. Raises
    :class:`ImportRefused` with everything that is wrong with the file; then nothing of it is stored,
    only the record of the refusal.
    """
    job = StoryImport.objects.create(
        study=study,
        role=role,
        file_name=(name or path.name)[:200],
        dry_run=dry_run,
        requested_by=by,
        requested_at=now,
    )
    return _work_on(job.pk, path, now=now, progress=progress)


@transaction.atomic
def queue_import(
    *,
    study: Study,
    file: File[bytes],
    by: User | None,
    now: datetime,
    role: Story.Role = Story.Role.MAIN,
    dry_run: bool = False,
) -> StoryImport:
    """Keep an uploaded file and let a Celery worker import it."""
    job = StoryImport.objects.create(
        study=study,
        role=role,
        file_name=Path(file.name or "upload").name[:200],
        file=file,
        dry_run=dry_run,
        requested_by=by,
        requested_at=now,
    )
    enqueue_import(story_import_id=job.pk)
    return job


def enqueue_import(*, story_import_id: int) -> None:
    """Have a worker import the file, once the surrounding transaction is committed.

    If the broker cannot be reached this is logged and nothing is lost: the sweep asks again.
    """
    transaction.on_commit(lambda: app.send_task(IMPORT_TASK, args=[story_import_id]), robust=True)


@transaction.atomic
def import_checked(*, story_import: StoryImport, by: User | None, now: datetime) -> StoryImport:
    """Have a worker import a file that was checked and is kept. Asking twice is once.

    Raises :class:`WrongState` for an import that was cancelled or refused, or whose file is gone.
    """
    job = _lock(story_import)
    if (job.state in UNFINISHED and not job.dry_run) or job.state == StoryImport.State.IMPORTED:
        return job
    if job.state != StoryImport.State.CHECKED or not job.file:
        raise WrongState(
            _("“%(file)s” cannot be imported: it is %(state)s. Upload it again.")
            % {"file": job.file_name, "state": job.get_state_display()}
        )
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
    """Drop a file that was checked. Nothing of it is stored; its record stays.

    Raises :class:`WrongState` once somebody has it imported, and while it is being checked.
    """
    job = _lock(story_import)
    if job.state == StoryImport.State.CANCELLED:
        return job
    if job.state != StoryImport.State.CHECKED:
        raise WrongState(
            _("“%(file)s” cannot be cancelled: it is %(state)s.")
            % {"file": job.file_name, "state": job.get_state_display()}
        )
    job.state = StoryImport.State.CANCELLED
    job.save(update_fields=["state"])
    record_event(
        study=job.study,
        type=Event.Type.IMPORT_CANCELLED,
        by=by,
        now=now,
        subject=f"import {job.pk}",
        note=job.file_name,
    )
    transaction.on_commit(lambda: _drop_file(job), robust=True)
    return job


def sweep_import_files(*, now: datetime) -> int:
    """Cancel what nobody decided about in time, and delete the files of all that is decided.

    Returns how many files. Safe to repeat: a file is deleted before its record forgets it.
    """
    late = StoryImport.objects.filter(state=StoryImport.State.CHECKED, finished_at__lte=now - DECIDE_WITHIN)
    for job in late.exclude(file=""):
        with contextlib.suppress(WrongState):  # somebody has decided just now
            cancel_import(story_import=job, by=None, now=now)
    decided = StoryImport.objects.filter(state__in=DECIDED, finished_at__lte=now - KEPT_AFTER).exclude(
        file=""
    )
    return sum(_drop_file(job) for job in decided)


def _drop_file(job: StoryImport) -> int:
    """Delete the file and have its record forget it. Returns how many records did."""
    job.file.delete(save=False)
    return StoryImport.objects.filter(pk=job.pk).update(file="")


def _lock(story_import: StoryImport) -> StoryImport:
    return (
        StoryImport.objects.select_for_update(of=("self",), no_key=True)
        .select_related("study")
        .get(pk=story_import.pk)
    )


def resume_imports(*, now: datetime) -> int:
    """Have a worker take up every import that should be under way and is not. Returns how many."""
    waiting = StoryImport.objects.filter(state__in=UNFINISHED, requested_at__lte=now - STALLED_AFTER)
    stalled = set(waiting.values_list("pk", flat=True)) - locks.being_imported()
    for pk in sorted(stalled):
        enqueue_import(story_import_id=pk)
    return len(stalled)


def run_import(*, story_import_id: int, now: datetime, progress: Progress | None = None) -> StoryImport:
    """Import a queued file. Safe to repeat, and to be killed at any instant.

    Returns the record as it is when the import is finished or another session works on it. Raises
    :class:`ImportRefused` for a file that is refused, also because it was begun too often. A lost
    database connection, or the end of the task's time, is raised and leaves the import to be taken up
    again. Any other error is a fault in tomannot: the import is refused and the error raised, so that
    the log has it. Must not run inside a transaction.
    """
    return _work_on(story_import_id, None, now=now, progress=progress)


def _work_on(pk: int, path: Path | None, *, now: datetime, progress: Progress | None) -> StoryImport:
    with locks.importing(pk) as ours:
        job = StoryImport.objects.select_related("study").get(pk=pk)
        if not ours or job.state not in UNFINISHED:
            return job
        try:
            path = path or _kept_file(job)
        except ImportRefused as refusal:
            _refuse(job, refusal)
            raise
        with locks.one_file(job.study_id):
            return _run(job, path, now=now, progress=progress or (lambda read: None))


def _kept_file(job: StoryImport) -> Path:
    """The uploaded file. Raises :class:`ImportRefused` when the import is not to be begun again."""
    if not job.file:
        message, remedy = "The command that imported this file was interrupted.", "Run it again."
    elif job.tries >= MOST_TRIES:
        message = f"The import was begun {job.tries} times and never came to its end."
        remedy = (
            "The worker's log says why: it was stopped, lost its database, or needed more than an hour. "
            "Give a large file in several parts, or import it with manage.py import_stories."
        )
    else:
        return Path(job.file.path)
    raise ImportRefused([Problem(job.file_name, 0, "", message, remedy)], 1)


def _run(job: StoryImport, path: Path, *, now: datetime, progress: Progress) -> StoryImport:
    _begin(job)
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
        job.finished_at = timezone.now()
        job.save()
    return job


def _begin(job: StoryImport) -> None:
    job.state = StoryImport.State.RUNNING
    job.tries += 1
    job.save(update_fields=["state", "tries"])


@transaction.atomic
def _refuse(job: StoryImport, refusal: ImportRefused) -> None:
    job.state = StoryImport.State.REFUSED
    job.stories_added = job.findings = 0
    job.findings_by_code = {}
    job.problems_found = refusal.total
    job.finished_at = timezone.now()
    job.save()
    ImportProblem.objects.filter(story_import=job).delete()
    ImportProblem.objects.bulk_create(
        (
            ImportProblem(
                story_import=job,
                line=problem.line,
                column=problem.column,
                field=problem.field[:100],
                message=problem.message,
                remedy=problem.remedy,
            )
            for problem in refusal.problems
        ),
        batch_size=1000,
    )
    record_event(
        study=job.study,
        type=Event.Type.IMPORT_REFUSED,
        by=job.requested_by,
        now=job.finished_at,
        subject=f"import {job.pk}",
        note=f"{job.file_name}: {refusal.total} problems",
    )
