"""The background work: what the tasks add to the actions behind them."""

from __future__ import annotations

from datetime import timedelta

import pytest
import redis
from celery.exceptions import SoftTimeLimitExceeded
from django.conf import settings
from django.utils import timezone

from annotation.models import Study
from publishing import tasks
from publishing.actions import releases
from publishing.models import Release
from tomannot.celery import app

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("releases_root")]


def queued() -> int:
    """How many messages wait for a worker."""
    with redis.Redis.from_url(settings.REDIS_URL) as broker:
        return len(broker.lrange("builds", 0, -1))


def test_asking_queues_one_build_once_the_request_is_committed(small: Study) -> None:
    app.control.purge()
    release = releases.request_release(study=small, by=None, now=timezone.now())
    assert queued() == 1
    tasks.build_release(release.pk)
    release.refresh_from_db()
    assert release.state == Release.State.PUBLISHED
    tasks.build_release(release.pk)  # a message may come twice
    app.control.purge()


def test_the_sweep_takes_up_what_nobody_builds(small: Study) -> None:
    long_ago = timezone.now() - timedelta(minutes=5)
    releases.request_release(study=small, by=None, now=long_ago)
    app.control.purge()
    tasks.resume_releases()
    assert queued() == 1
    app.control.purge()
    releases.fail_release(release_id=Release.objects.get().pk, reason="given up", now=timezone.now())
    tasks.resume_releases()
    assert queued() == 0


def test_a_build_that_takes_too_long_fails_with_the_reason(
    small: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = releases.request_release(study=small, by=None, now=timezone.now())

    def too_long(*args: object, **kwargs: object) -> None:
        raise SoftTimeLimitExceeded

    monkeypatch.setattr("publishing.builder.jsonl.line", too_long)
    tasks.build_release(release.pk)
    release.refresh_from_db()
    assert release.state == Release.State.FAILED
    assert "4 hours" in release.failure
    assert list(release.directory.parent.iterdir()) == []
    app.control.purge()


def test_a_build_that_takes_too_long_at_its_end_leaves_the_place_free(
    small: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The directory is in place already, and the database does not know yet."""
    release = releases.request_release(study=small, by=None, now=timezone.now())

    def too_long(*args: object, **kwargs: object) -> None:
        assert (release.directory / "MANIFEST").is_file()
        raise SoftTimeLimitExceeded

    with monkeypatch.context() as patched:
        patched.setattr("publishing.actions.releases._publish", too_long)
        tasks.build_release(release.pk)
    release.refresh_from_db()
    assert release.state == Release.State.FAILED
    assert not release.directory.exists()
    again = releases.request_release(study=small, by=None, now=timezone.now())
    tasks.build_release(again.pk)
    again.refresh_from_db()
    assert (again.number, again.state) == (release.number, Release.State.PUBLISHED)
    app.control.purge()
