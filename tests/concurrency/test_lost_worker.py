"""A worker is gone while the database is at a statement of its, however long that takes."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress

import pytest
from django.db import Error, connection, connections

from annotation import locks

pytestmark = pytest.mark.django_db(transaction=True)
WORKER, UNNOTICED = 7, 8


def sleeping() -> set[int]:
    """The database's processes that are at such a statement."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pid FROM pg_stat_activity WHERE state = 'active' AND query LIKE 'SELECT pg_sleep%' "
            "AND datname = current_database()"
        )
        return {row[0] for row in cursor.fetchall()}


def gone_at_work(number: int) -> None:
    """Be alone at some work and ask the database something long; then the connection ends without a word.

    That is what the kernel does when it kills a process.
    """
    sockets: list[int] = []

    def work() -> None:
        with suppress(Error), locks.alone(locks.IMPORT, number), connection.cursor() as cursor:
            if number == UNNOTICED:
                cursor.execute("SET client_connection_check_interval = 0")
            sockets.append(os.dup(connection.connection.fileno()))
            cursor.execute("SELECT pg_sleep(40)")
        connections.close_all()

    before = len(sleeping())
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    while len(sleeping()) == before:
        assert thread.is_alive(), "the worker failed"
        time.sleep(0.02)
    with socket.socket(fileno=sockets[0]) as line:
        line.shutdown(socket.SHUT_RDWR)
    thread.join(timeout=20)


@pytest.fixture
def nobody_sleeps_on() -> Iterator[None]:
    yield
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(pid) FROM unnest(%s::int[]) AS pid", [[*sleeping()]])


@pytest.mark.usefixtures("nobody_sleeps_on")
def test_the_work_of_a_worker_that_is_gone_is_free_before_its_statement_ends() -> None:
    """The control: where the database does not look, the work of the other one stays taken."""
    for number in (WORKER, UNNOTICED):
        gone_at_work(number)
    assert locks.held(locks.IMPORT) == {WORKER, UNNOTICED}

    time.sleep(2 * locks.NOTICED_WITHIN.total_seconds())

    assert locks.held(locks.IMPORT) == {UNNOTICED}
