"""Imports by a worker: whatever happens to it, each comes to an end that people see."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from celery.exceptions import SoftTimeLimitExceeded
from django.conf import settings as django_settings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import OperationalError, transaction
from django.utils import timezone

from accounts.models import User
from annotation import actions, tasks
from annotation.actions import import_jobs, story_files
from annotation.errors import WrongState
from annotation.importing.progress import progress_of
from annotation.models import Event, Story, StoryImport, Study
from tests import builders
from tomannot.celery import app

pytestmark = [
    pytest.mark.django_db,
    # Celery's Redis backend, when a task tells its progress
    pytest.mark.filterwarnings("ignore:Call to deprecated setex:DeprecationWarning"),
]


@pytest.fixture
def study() -> Study:
    return builders.make_study(stories=0, opened=False)


def rows(*numbers: int, **changes: Any) -> list[dict[str, Any]]:
    return [builders.story_row(number, **changes) for number in numbers]


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, list[int]]]:
    """The tasks that were sent to the broker."""
    calls: list[tuple[str, list[int]]] = []
    monkeypatch.setattr(app, "send_task", lambda name, *, args: calls.append((name, args)))
    return calls


def upload(rows: list[dict[str, Any]]) -> SimpleUploadedFile:
    text = "".join(json.dumps(row) + "\n" for row in rows)
    return SimpleUploadedFile("../my stories.jsonl", text.encode())


def queue(study: Study, rows: list[dict[str, Any]], by: User | None = None) -> StoryImport:
    return actions.queue_import(study=study, file=upload(rows), by=by, now=timezone.now())


def test_an_uploaded_file_is_imported_by_the_task(
    study: Study, sent: list[tuple[str, list[int]]], django_capture_on_commit_callbacks: Any
) -> None:
    researcher = User.objects.create_user("researcher")
    with django_capture_on_commit_callbacks(execute=True):
        job = queue(study, rows(1, 2), by=researcher)
        assert sent == []
    assert sent == [("annotation.tasks.run_import", [job.pk])]
    assert tasks.run_import.name == sent[0][0]
    kept = Path(job.file.path).resolve()
    assert kept.is_relative_to(Path(django_settings.MEDIA_ROOT).resolve() / "imports")
    assert kept.stat().st_mode & 0o077 == 0

    assert tasks.run_import.apply(args=sent[0][1]).get() == "imported"

    job.refresh_from_db()
    assert (job.state, job.stories_added, job.file_name) == ("imported", 2, "my stories.jsonl")
    assert Event.objects.get(type=Event.Type.STORIES_IMPORTED).actor == researcher


def test_a_task_delivered_twice_imports_once(study: Study, sent: list[tuple[str, list[int]]]) -> None:
    job = queue(study, rows(1))

    results = [tasks.run_import.apply(args=[job.pk]).get() for _ in range(2)]

    assert results == ["imported", "imported"]
    assert Story.objects.count() == 1
    assert Event.objects.filter(type=Event.Type.STORIES_IMPORTED).count() == 1


def test_a_refused_upload_is_not_an_error_of_the_task(
    study: Study, sent: list[tuple[str, list[int]]]
) -> None:
    job = queue(study, rows(1, scenario_name="nowhere"))

    assert tasks.run_import.apply(args=[job.pk]).get() == "refused"
    assert tasks.run_import.apply(args=[job.pk]).get() == "refused"
    job.refresh_from_db()
    assert job.problems.count() == 1


def test_nothing_is_sent_when_the_upload_is_rolled_back(
    study: Study, sent: list[tuple[str, list[int]]], django_capture_on_commit_callbacks: Any
) -> None:
    with django_capture_on_commit_callbacks(execute=True), transaction.atomic():
        queue(study, rows(1))
        transaction.set_rollback(True)

    assert sent == []


def test_an_upload_outlives_a_broker_that_is_away(
    study: Study, monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any
) -> None:
    def away(*args: object, **kwargs: object) -> None:
        raise ConnectionError("no broker")

    monkeypatch.setattr(app, "send_task", away)
    with django_capture_on_commit_callbacks(execute=True):
        job = queue(study, rows(1))

    job.refresh_from_db()
    assert job.state == "queued"


def test_the_sweep_takes_up_what_nobody_works_on(
    study: Study, sent: list[tuple[str, list[int]]], django_capture_on_commit_callbacks: Any
) -> None:
    """Waiting for a minute, or begun and left; not what has just come or has ended."""
    long_ago = timezone.now() - timedelta(minutes=2)
    waiting, begun, ended = [
        actions.queue_import(study=study, file=upload(rows(number)), by=None, now=long_ago)
        for number in range(3)
    ]
    StoryImport.objects.filter(pk=begun.pk).update(state=StoryImport.State.RUNNING)
    tasks.run_import.apply(args=[ended.pk]).get()
    queue(study, rows(4))

    with django_capture_on_commit_callbacks(execute=True):
        assert tasks.resume_imports.apply().get() == 2

    assert [args for _, args in sent] == [[waiting.pk], [begun.pk]]
    assert tasks.run_import.apply(args=[begun.pk]).get() == "imported"
    schedule = app.conf.beat_schedule["resume-imports"]
    assert (schedule["task"], schedule["schedule"]) == (tasks.resume_imports.name, 60)


@pytest.mark.parametrize("interruption", [SoftTimeLimitExceeded, OperationalError])
def test_an_interrupted_import_is_begun_again_but_not_for_ever(
    study: Study,
    sent: list[tuple[str, list[int]]],
    monkeypatch: pytest.MonkeyPatch,
    interruption: type[Exception],
) -> None:
    def interrupted(*args: object, **kwargs: object) -> None:
        raise interruption

    later = timezone.now() + timedelta(minutes=2)
    job = queue(study, rows(1))
    with monkeypatch.context() as patch:
        patch.setattr(story_files, "_finish", interrupted)
        for _ in range(import_jobs.MOST_TRIES):
            assert actions.resume_imports(now=later) == 1
            with pytest.raises(interruption):
                tasks.run_import.apply(args=[job.pk]).get()
    assert not Story.objects.exists()
    assert actions.resume_imports(now=later) == 1

    assert tasks.run_import.apply(args=[job.pk]).get() == "refused"

    assert "begun 3 times" in job.problems.get().message
    assert actions.resume_imports(now=later) == 0


def test_an_import_goes_on_after_an_interruption(
    study: Study, sent: list[tuple[str, list[int]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*args: object, **kwargs: object) -> None:
        raise SoftTimeLimitExceeded

    job = queue(study, rows(1, 2))
    with monkeypatch.context() as patch:
        patch.setattr(story_files, "_finish", interrupted)
        with pytest.raises(SoftTimeLimitExceeded):
            tasks.run_import.apply(args=[job.pk]).get()
    job.refresh_from_db()
    assert (job.state, job.tries) == ("queued", 1)

    assert tasks.run_import.apply(args=[job.pk]).get() == "imported"

    job.refresh_from_db()
    assert (job.rows_read, job.stories_added, job.tries) == (2, 2, 2)


def test_a_command_that_was_interrupted_is_not_left_running(
    study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*args: object, **kwargs: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(story_files, "_finish", interrupted)
    path = builders.write_rows(tmp_path / "x.jsonl", rows(1))
    with pytest.raises(KeyboardInterrupt):
        actions.import_stories(study=study, path=path, by=None, now=timezone.now())
    job = StoryImport.objects.get()
    assert job.state == "running"
    assert actions.resume_imports(now=timezone.now() + timedelta(minutes=2)) == 1

    assert tasks.run_import.apply(args=[job.pk]).get() == "refused"

    assert "was interrupted" in job.problems.get().message


def test_the_sweep_task_frees_leases(study: Study) -> None:
    assert tasks.release_expired_leases.apply().get() == 0


def check(study: Study, rows: list[dict[str, Any]]) -> StoryImport:
    job = actions.queue_import(study=study, file=upload(rows), by=None, now=timezone.now(), dry_run=True)
    tasks.run_import.apply(args=[job.pk]).get()
    job.refresh_from_db()
    return job


def test_a_checked_file_is_imported_on_demand_and_only_once(
    study: Study, sent: list[tuple[str, list[int]]], django_capture_on_commit_callbacks: Any
) -> None:
    job = check(study, rows(1, 2))
    assert (job.state, job.stories_added, Story.objects.count()) == ("checked", 2, 0)
    with django_capture_on_commit_callbacks(execute=True):
        actions.import_checked(story_import=job, by=None, now=timezone.now())
        actions.import_checked(story_import=job, by=None, now=timezone.now())
    assert sent == [("annotation.tasks.run_import", [job.pk])]
    assert tasks.run_import.apply(args=[job.pk]).get() == "imported"
    job = actions.import_checked(story_import=job, by=None, now=timezone.now())
    assert (job.state, job.stories_added, job.dry_run, Story.objects.count()) == ("imported", 2, False, 2)


def test_a_checked_file_is_cancelled(
    study: Study, sent: list[tuple[str, list[int]]], django_capture_on_commit_callbacks: Any
) -> None:
    job = check(study, rows(1))
    kept = Path(job.file.path)
    with django_capture_on_commit_callbacks(execute=True):
        actions.cancel_import(story_import=job, by=None, now=timezone.now())
    assert not kept.exists()
    assert Event.objects.get(type=Event.Type.IMPORT_CANCELLED).note == "my stories.jsonl"
    with pytest.raises(WrongState, match="Upload it again"):
        actions.import_checked(story_import=job, by=None, now=timezone.now())
    actions.cancel_import(story_import=job, by=None, now=timezone.now())
    assert Event.objects.filter(type=Event.Type.IMPORT_CANCELLED).count() == 1


def test_what_is_imported_is_not_cancelled(study: Study, sent: list[tuple[str, list[int]]]) -> None:
    job = queue(study, rows(1))
    tasks.run_import.apply(args=[job.pk]).get()
    with pytest.raises(WrongState, match="it is imported"):
        actions.cancel_import(story_import=job, by=None, now=timezone.now())


def test_files_are_kept_until_it_is_decided_about_them(
    study: Study, sent: list[tuple[str, list[int]]], django_capture_on_commit_callbacks: Any
) -> None:
    undecided, imported, refused = check(study, rows(1)), queue(study, rows(2)), queue(study, [{}])
    for job in (imported, refused):
        tasks.run_import.apply(args=[job.pk]).get()
    paths = [Path(job.file.path) for job in (undecided, imported, refused)]
    now = timezone.now()
    assert actions.sweep_import_files(now=now) == 0
    assert actions.sweep_import_files(now=now + timedelta(hours=2)) == 2
    assert [path.exists() for path in paths] == [True, False, False]
    with django_capture_on_commit_callbacks(execute=True):
        actions.sweep_import_files(now=now + timedelta(hours=25))
    undecided.refresh_from_db()
    assert (undecided.state, undecided.file.name, paths[0].exists()) == ("cancelled", "", False)
    assert app.conf.beat_schedule["sweep-import-files"]["task"] == tasks.sweep_import_files.name


def test_a_check_says_what_the_lint_found(study: Study, sent: list[tuple[str, list[int]]]) -> None:
    alike = [builders.story_row(1), builders.story_row(1) | {"story_id": "b_sev1", "core_id": "b"}]
    job = check(study, alike)
    found = job.findings_by_code["same_text"]
    assert found["count"] == 1
    assert found["examples"][0]["line"] == 2
    assert "story_00001_sev1" in found["examples"][0]["message"]
    assert sum(kind["count"] for kind in job.findings_by_code.values()) == job.findings


def test_a_worker_tells_how_far_it_has_come(study: Study, sent: list[tuple[str, list[int]]]) -> None:
    job = queue(study, rows(1, 2, 3))
    assert progress_of(job.pk) == 0
    tasks.run_import.apply(args=[job.pk]).get()
    assert progress_of(job.pk) == 3
