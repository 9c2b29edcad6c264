"""The progress of a build as others see it, also after its worker has died."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from django.core.cache import caches
from django.utils import timezone

from annotation import locks
from annotation.models import Study
from publishing import progress
from publishing.actions import releases
from publishing.models import Release
from publishing.progress import BuildStanding, Progress, Reporter
from publishing.steps import Stage

pytestmark = pytest.mark.django_db(transaction=True)


def standing(release: Release, *, later: timedelta = timedelta()) -> BuildStanding:
    release.refresh_from_db()
    return progress.build_standing(release, progress.latest(release), now=timezone.now() + later)[0]


class Crash(BaseException):
    """The end of a worker, as far as its build can tell."""


def test_a_dead_worker_leaves_its_last_sign_and_another_one_goes_on(
    small: Study, releases_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A real worker is killed in :mod:`tests.publishing.test_kill`."""
    later = 2 * progress.GRACE
    release = releases.request_release(study=small, by=None, now=timezone.now())
    assert standing(release) is BuildStanding.QUEUED
    assert standing(release, later=later) is BuildStanding.UNTAKEN, "no worker has taken it"

    def crash(*_: object, **__: object) -> None:
        assert standing(release, later=later) is BuildStanding.UNDERWAY
        assert standing(release, later=2 * progress.SILENT_AFTER) is BuildStanding.SILENT
        raise Crash

    monkeypatch.setattr(releases, "_publish", crash)
    with pytest.raises(Crash):
        releases.build_release(release_id=release.pk, now=timezone.now())
    monkeypatch.undo()
    assert standing(release, later=later) is BuildStanding.STALLED
    left = progress.latest(release)
    assert left is not None
    assert left.stage is Stage.RECORDING
    _, sign = progress.build_standing(release, left, now=timezone.now())
    assert sign == left.at
    releases.build_release(release_id=release.pk, now=timezone.now())
    release.refresh_from_db()
    assert release.state == Release.State.PUBLISHED
    went_on = progress.latest(release)
    assert went_on is not None
    assert went_on.at > left.at


def test_a_release_waits_its_turn_while_another_is_built(small: Study) -> None:
    release = releases.request_release(study=small, by=None, now=timezone.now())
    asked_at = release.requested_at
    with locks.alone(locks.RELEASE, release.pk + 1) as ours:
        assert ours
        for later in (timedelta(), timedelta(hours=3)):
            found = progress.build_standing(release, None, now=timezone.now() + later)
            assert found == (BuildStanding.QUEUED, asked_at)
    with locks.alone(locks.RELEASE, release.pk):
        assert standing(release, later=timedelta(hours=3)) is BuildStanding.UNDERWAY, "it has just been taken"


def test_reports_are_kept_once_a_second_and_where_a_step_begins(
    small: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = releases.request_release(study=small, by=None, now=timezone.now())
    tick = 0.0
    monkeypatch.setattr(progress, "monotonic", lambda: tick)
    report = Reporter(release)
    kept: list[Progress | None] = []
    for done in range(40):
        tick = done / 10
        report(Stage.STORIES, done, 40)
        kept.append(progress.latest(release))
    assert len(set(kept)) == 4, "of 40 reports in four seconds"
    report(Stage.QUESTIONS, 0, 20)
    found = progress.latest(release)
    assert found is not None
    assert (found.stage, found.done, found.total) == (Stage.QUESTIONS, 0, 20)


def test_every_step_is_reported(small: Study, releases_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[Stage] = []

    def keep(key: str, value: Progress, timeout: float) -> None:
        steps.append(value.stage)

    release = releases.request_release(study=small, by=None, now=timezone.now())
    monkeypatch.setattr(caches["shared"], "set", keep)
    releases.build_release(release_id=release.pk, now=timezone.now())
    release.refresh_from_db()
    assert release.state == Release.State.PUBLISHED
    assert steps == [*Stage]
