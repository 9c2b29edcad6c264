"""A worker is killed while the database is at a statement of its, however long that takes."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import pytest
from django.conf import settings
from django.db import connection

from annotation import locks

pytestmark = pytest.mark.django_db(transaction=True)

NUMBER = 7
STATEMENT_SECONDS = 40
WORKER = f"""
import django
django.setup()
from django.db import connection
from annotation import locks
with locks.alone(locks.IMPORT, {NUMBER}), connection.cursor() as cursor:
    {{before}}
    cursor.execute("SELECT pg_sleep({STATEMENT_SECONDS})")
"""
UNNOTICED = "cursor.execute('SET client_connection_check_interval = 0')"

StartWorker = Callable[[str], "subprocess.Popen[bytes]"]


@pytest.fixture
def start_worker(child_environment: dict[str, str]) -> Iterator[StartWorker]:
    """Starts a process that is alone at its work and asks the database something long."""
    started: list[subprocess.Popen[bytes]] = []

    def start(before: str) -> subprocess.Popen[bytes]:
        script = WORKER.format(before=before)
        started.append(
            subprocess.Popen([sys.executable, "-c", script], cwd=settings.BASE_DIR, env=child_environment)
        )
        assert wait_until(lambda: len(sleeping()) == 1, seconds=60)
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(pid) FROM unnest(%s::int[]) AS pid", [[*sleeping()]])


def sleeping() -> set[int]:
    """The database's processes that are at such a statement."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pid FROM pg_stat_activity WHERE state = 'active' AND query LIKE 'SELECT pg_sleep%' "
            "AND datname = current_database()"
        )
        return {row[0] for row in cursor.fetchall()}


def wait_until(holds: Callable[[], bool], *, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


@pytest.mark.parametrize(("before", "is_free"), [("", True), (UNNOTICED, False)], ids=["noticed", "control"])
def test_the_work_of_a_killed_worker_is_free_before_its_statement_ends(
    start_worker: StartWorker, before: str, is_free: bool
) -> None:
    worker = start_worker(before)
    assert locks.held(locks.IMPORT) == {NUMBER}
    worker.kill()
    worker.wait()
    seconds = 2 * locks.NOTICED_WITHIN.total_seconds()
    assert wait_until(lambda: not locks.held(locks.IMPORT), seconds=seconds) is is_free
