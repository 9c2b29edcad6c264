"""Imports beside one another and beside other work, and what happens without the guard."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from datetime import timedelta
from pathlib import Path

import pytest
from celery.exceptions import SoftTimeLimitExceeded
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import IntegrityError, connection
from django.utils import timezone

from annotation import actions, locks
from annotation.actions import story_files
from annotation.errors import ImportRefused, WrongState
from annotation.models import Event, Story, StoryImport, Study
from dashboard.actions import choose_test
from tests import builders
from tests.concurrency.racing import MOMENT, Overtaking, errors, race, slowly, together, without_locks
from tomannot.celery import app

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def importer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], StoryImport]:
    study: Study = builders.make_study(stories=0, opened=False)
    path = builders.write_rows(tmp_path / "stories.jsonl", map(builders.story_row, range(5)))
    slowly(monkeypatch, story_files, "_new_rows")
    return lambda: actions.import_stories(study=study, path=path, by=None, now=timezone.now())


def test_one_file_imported_twice_at_once_is_stored_once(importer: Callable[[], StoryImport]) -> None:
    outcomes = race(*[importer] * 2)

    assert not errors(outcomes)
    jobs = [outcome for outcome in outcomes if isinstance(outcome, StoryImport)]
    assert sorted((job.stories_added, job.stories_unchanged) for job in jobs) == [(0, 5), (5, 0)]
    assert Story.objects.count() == 5


def test_control_without_locks_the_second_import_breaks(
    importer: Callable[[], StoryImport], monkeypatch: pytest.MonkeyPatch
) -> None:
    without_locks(monkeypatch)
    monkeypatch.setattr(locks, "one_file", nullcontext)
    together(monkeypatch, story_files, "_new_rows", 2)

    outcomes = race(*[importer] * 2)

    assert any(isinstance(error, IntegrityError) for error in errors(outcomes))


def test_our_test_is_not_added_while_a_file_comes_in(importer: Callable[[], StoryImport]) -> None:
    """The file may have begun after the study was looked at: nobody waits for it with the study locked."""
    study = Study.objects.get()
    begun, decided = threading.Event(), threading.Event()

    def file_coming_in() -> None:
        with locks.one_file(study.pk):
            begun.set()
            assert decided.wait(timeout=20)

    def choosing() -> Study:
        assert begun.wait(timeout=20)
        try:
            return choose_test(study=study, test="sample", by=None, now=timezone.now())
        finally:
            decided.set()

    _none, refusal = race(file_coming_in, choosing)

    assert isinstance(refusal, WrongState)
    assert "An import is running" in str(refusal)
    assert not StoryImport.objects.exists()
    choose_test(study=study, test="sample", by=None, now=timezone.now())
    assert Story.objects.filter(role=Story.Role.QUALIFICATION).count() == 5


@pytest.fixture
def queued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StoryImport:
    """An upload that no worker has taken, though it came some minutes ago."""
    monkeypatch.setattr(app, "send_task", lambda name, *, args: None)
    study: Study = builders.make_study(stories=1)
    content = builders.write_rows(tmp_path / "more.jsonl", map(builders.story_row, range(1, 4))).read_bytes()
    return actions.queue_import(
        study=study,
        file=SimpleUploadedFile("more.jsonl", content),
        by=None,
        now=timezone.now() - timedelta(minutes=5),
    )


def run(job: StoryImport) -> StoryImport:
    return actions.run_import(story_import_id=job.pk, now=timezone.now())


def test_a_message_that_comes_twice_at_once_is_worked_on_once(
    queued: StoryImport, monkeypatch: pytest.MonkeyPatch
) -> None:
    slowly(monkeypatch, story_files, "_new_rows")

    outcomes = race(*[lambda: run(queued)] * 2)

    assert not errors(outcomes)
    queued.refresh_from_db()
    assert (queued.state, queued.stories_added, queued.tries) == ("imported", 3, 1)
    assert Event.objects.filter(subject=f"import {queued.pk}").count() == 1


def test_a_message_that_was_late_leaves_a_finished_record_alone(
    queued: StoryImport, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The late worker is about to begin when another one does all of the work."""
    take = locks.alone
    overtaking = Overtaking()

    @contextmanager
    def late(lock_class: int, pk: int) -> Iterator[bool]:
        monkeypatch.setattr(locks, "alone", take)
        overtaking.wait_inside()
        with take(lock_class, pk) as ours:
            yield ours

    monkeypatch.setattr(locks, "alone", late)

    outcomes = race(lambda: run(queued), overtaking.overtake(lambda: run(queued)))

    assert not errors(outcomes)
    assert [job.state for job in outcomes if isinstance(job, StoryImport)] == ["imported"] * 2
    queued.refresh_from_db()
    assert (queued.state, queued.stories_added, queued.tries) == ("imported", 3, 1)
    assert Event.objects.filter(subject=f"import {queued.pk}").count() == 1


def test_the_end_of_the_tasks_time_in_the_middle_of_a_query_lets_go_of_everything(
    queued: StoryImport, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Celery raises the exception from a signal, wherever the worker is: here while the database works."""

    def time_is_up(*args: object) -> None:
        raise SoftTimeLimitExceeded

    def working(*_: object) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_sleep(1)")

    before = signal.signal(signal.SIGALRM, time_is_up)
    try:
        with monkeypatch.context() as patch:
            patch.setattr(story_files, "locked", working)
            signal.setitimer(signal.ITIMER_REAL, 0.2)
            with pytest.raises(SoftTimeLimitExceeded):
                run(queued)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    queued.refresh_from_db()
    assert (queued.state, queued.tries) == ("queued", 1)
    assert Story.objects.count() == 1

    deadline = time.monotonic() + 20
    while locks.held(locks.IMPORT) and time.monotonic() < deadline:
        time.sleep(MOMENT)  # the server ends the query before it sees that nobody waits for it
    (job,) = race(lambda: run(queued))

    assert isinstance(job, StoryImport)
    assert (job.state, job.stories_added) == ("imported", 3)


def overtaken(job: StoryImport, call: Callable[[], object]) -> list[object | Exception]:
    """What comes of an import in the middle of which something else happens, and of that."""
    overtaking = Overtaking()

    def working() -> object:
        return actions.run_import(
            story_import_id=job.pk, now=timezone.now(), progress=lambda read: overtaking.wait_inside()
        )

    calls: list[Callable[[], object]] = [working, overtaking.overtake(call)]
    return race(*calls)


def test_the_sweep_leaves_an_import_alone_that_somebody_works_on(queued: StoryImport) -> None:
    assert actions.resume_imports(now=timezone.now()) == 1

    _, found = overtaken(queued, lambda: actions.resume_imports(now=timezone.now()))

    assert found == 0


def test_a_study_can_be_paused_while_a_file_comes_in(queued: StoryImport) -> None:
    study = queued.study

    def pause() -> object:
        actions.pause_study(study=study, by=None, now=timezone.now())
        return StoryImport.objects.get(pk=queued.pk).state

    job, state_meanwhile = overtaken(queued, pause)

    assert state_meanwhile == "running"
    assert isinstance(job, StoryImport)
    assert (job.state, Story.objects.count()) == ("imported", 4)
    study.refresh_from_db()
    assert study.state == Study.State.PAUSED


def test_a_study_that_is_closed_while_a_file_comes_in_gets_nothing_of_it(queued: StoryImport) -> None:
    refusal, _ = overtaken(
        queued, lambda: actions.close_study(study=queued.study, by=None, now=timezone.now())
    )

    assert isinstance(refusal, ImportRefused)
    assert "is closed" in refusal.problems[0].message
    assert Story.objects.count() == 1
    queued.refresh_from_db()
    assert queued.state == "refused"
