"""Fixtures of this room: a place for releases, a study, a real Celery worker."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from django.conf import settings as django_settings

from annotation.models import Study
from publishing.models import Release
from tests.builders import ALL_YES, answers
from tests.publishing.destinations.faults import drop
from tests.publishing.support import judged_study, published
from tests.worlds import built_once
from tomannot.celery import app

if TYPE_CHECKING:
    from tests.publishing.destinations.store import Store

Worker = subprocess.Popen[bytes]
START_SECONDS = 60.0
_buckets = count(1)


@pytest.fixture
def releases_root(tmp_path: Path, settings: Any) -> Path:
    settings.RELEASES_ROOT = tmp_path / "releases"
    return tmp_path / "releases"


@built_once
def small_study() -> Study:
    """Three complete stories, one of them dropped, and one without votes; one vote each."""
    forms = {"a": (ALL_YES,), "b": (answers(q3="no"),), "c": (ALL_YES,), "d": ()}
    return judged_study("small", forms, votes_per_story=1)


@built_once
def published_small() -> Release:
    return published(small_study())


@built_once
def published_twice() -> tuple[Release, Release]:
    first = published_small()
    return first, published(first.study)


@pytest.fixture
def small() -> Study:
    return small_study()


@pytest.fixture
def release(releases_root: Path) -> Release:
    """The first release of the small study, whose directory is here."""
    return published_small()


@pytest.fixture
def start_worker(
    child_environment: dict[str, str], releases_root: Path, tmp_path: Path
) -> Iterator[Callable[[], Worker]]:
    """Starts a real worker on the test servers, in a session of its own; returns once it answers.

    Those still alive at the end are killed, each by its own process group.
    """
    app.control.purge()
    environment = {**child_environment, "RELEASES_ROOT": str(releases_root)}
    workers: list[Worker] = []

    def start() -> Worker:
        name = f"test-{os.getpid()}-{len(workers)}@localhost"
        log = (tmp_path / f"worker-{len(workers)}.log").open("wb")
        command = [
            sys.executable, "-m", "celery", "-A", "tomannot", "worker", "-P", "prefork", "-c", "1",
            "-n", name, "--without-gossip", "--without-mingle", "--without-heartbeat", "-l", "INFO",
        ]  # fmt: skip
        worker = subprocess.Popen(
            command,
            env=environment,
            cwd=django_settings.BASE_DIR,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        log.close()
        workers.append(worker)
        deadline = time.monotonic() + START_SECONDS
        while not app.control.inspect([name], timeout=0.5, limit=1).ping():
            assert worker.poll() is None, Path(log.name).read_text(encoding="utf-8")[-3000:]
            assert time.monotonic() < deadline, "the worker does not answer"
        return worker

    yield start
    for worker in workers:
        kill(worker)
    app.control.purge()


def kill(worker: Worker) -> None:
    """SIGKILL the worker and its pool process at once: no handler runs, nothing is tidied up."""
    if worker.poll() is None:
        os.killpg(worker.pid, signal.SIGKILL)
    worker.wait(timeout=30)


@pytest.fixture(scope="session")
def _store() -> Iterator[Store]:
    from tests.publishing.destinations.store import Store  # loads moto

    store = Store()
    yield store
    store.close()


@pytest.fixture
def store(_store: Store, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Store:
    """A store without faults, and credentials for it in the environment; nothing is tried twice."""
    for name, value in {
        "AWS_ACCESS_KEY_ID": "key-of-these-tests",
        "AWS_SECRET_ACCESS_KEY": "secret-of-these-tests",
        "AWS_MAX_ATTEMPTS": "1",
        "AWS_CONFIG_FILE": str(tmp_path / "no-config"),
        "AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "no-credentials"),
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    _store.faults.clear()
    _store.garble = False
    _store.knows_checksums = True
    _store.cut_bodies = False
    return _store


@pytest.fixture
def bucket(store: Store) -> str:
    """A new bucket."""
    name = f"bucket-{next(_buckets)}"
    store.client.create_bucket(Bucket=name)
    return name


@pytest.fixture
def machine(settings: Any, tmp_path: Path, store: Store, bucket: str) -> Callable[[str], Path]:
    """Turns this process into a machine of that name: with disks of its own and the store of all."""
    settings.STORAGE_URL = f"s3://{bucket}/site"
    settings.STORAGES = settings.STORAGES | {
        "default": {
            "BACKEND": "storages.backends.s3.S3Storage",
            "OPTIONS": {
                "bucket_name": bucket,
                "location": "site",
                "endpoint_url": store.url,
                "file_overwrite": False,
                "max_memory_size": 1 << 10,
                "region_name": "us-east-1",
            },
        }
    }

    def become(name: str) -> Path:
        settings.RELEASES_ROOT, settings.MEDIA_ROOT = tmp_path / name / "releases", tmp_path / name / "media"
        return tmp_path / name

    become("first")
    return become


def take_away(store: Store) -> None:
    """Let no request be answered until the faults are cleared."""
    for number in range(1, 200):
        store.faults.before(lambda *_: True, drop, nth=number)
