"""Several things at once, and the guards turned off to see that they are needed."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import pytest
from django.db import connection, connections, models

import annotation.sql
from annotation.sql import Select

T = TypeVar("T")
MOMENT = 0.05
"""Seconds by which a race is widened: long beside a query, short beside a test."""
ROUNDS = (1, *(pytest.param(number, marks=pytest.mark.torture) for number in (2, 3)))
"""Races that nothing steers are run once; under torture more often."""


def race(*calls: Callable[[], T]) -> list[T | Exception]:
    """Start all calls at the same instant, each in a thread with a database connection of its own.

    Returns what each returned or raised, in the order given.
    """
    connection.close()  # every connection of the pool is needed, also those a server keeps
    connection.close_pool()  # type: ignore[attr-defined]  # of the PostgreSQL backend
    outcomes: list[Any] = [None] * len(calls)
    start = threading.Barrier(len(calls))

    def run(number: int, call: Callable[[], T]) -> None:
        try:
            connection.ensure_connection()
            start.wait(timeout=20)
            outcomes[number] = call()
        except Exception as error:  # noqa: BLE001 - the test looks at what went wrong
            outcomes[number] = error
        finally:
            connections.close_all()

    threads = [threading.Thread(target=run, args=pair, daemon=True) for pair in enumerate(calls)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
        assert not thread.is_alive(), "a racer hangs"
    return outcomes


def errors(outcomes: Sequence[object]) -> list[Exception]:
    return [outcome for outcome in outcomes if isinstance(outcome, Exception)]


def slowly(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> None:
    """Make a function take a moment longer, so that everybody in a race would like to be inside at once."""
    original = getattr(owner, name)

    def slow(*args: Any, **kwargs: Any) -> Any:
        result = original(*args, **kwargs)
        time.sleep(MOMENT)
        return result

    monkeypatch.setattr(owner, name, slow)


def together(
    monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, parties: int, *, before: bool = False
) -> None:
    """Let nobody leave (or begin) a function before so many are there: for controls, where no lock
    keeps them out.
    """
    original = getattr(owner, name)
    everybody = threading.Barrier(parties)

    def meeting(*args: Any, **kwargs: Any) -> Any:
        if before:
            everybody.wait(timeout=20)
        result = original(*args, **kwargs)
        if not before:
            everybody.wait(timeout=20)
        return result

    monkeypatch.setattr(owner, name, meeting)


def without_locks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: rows are read as before, but nobody locks them."""

    def unlocked(queryset: models.QuerySet[Any], **options: Any) -> models.QuerySet[Any]:
        return queryset

    def compile_unlocked(self: Select) -> tuple[str, list[Any]]:
        sql, parts = compile_locked(self)
        return re.sub(r"FOR NO KEY UPDATE.*", "", sql), parts

    compile_locked = Select._compile
    monkeypatch.setattr(models.QuerySet, "select_for_update", unlocked)
    monkeypatch.setattr(Select, "_compile", compile_unlocked)
    for statement in vars(annotation.sql).values():
        if isinstance(statement, Select):
            monkeypatch.setattr(statement, "_compiled", None)


def wait_until_blocking(seconds: float = 10) -> None:
    """Wait until somebody waits for a lock of this thread's transaction."""
    blocked = "SELECT 1 FROM pg_stat_activity WHERE pg_backend_pid() = ANY (pg_blocking_pids(pid))"
    until = time.monotonic() + seconds
    with connection.cursor() as cursor:
        while time.monotonic() < until:
            cursor.execute("SELECT pg_stat_clear_snapshot()")
            cursor.execute(blocked)
            if cursor.fetchall():
                return
            time.sleep(0.02)
    raise TimeoutError("nobody waits for a lock of this transaction")


class Overtaking:
    """A function in the middle of which something else happens from start to end."""

    def __init__(self) -> None:
        self._inside = threading.Event()
        self._done = threading.Event()

    def wait_inside(self, seconds: float = 20) -> None:
        """Called by the function: wait there until the other thing is done, or so long if a lock keeps it."""
        self._inside.set()
        self._done.wait(timeout=seconds)

    def overtake(self, call: Callable[[], T]) -> Callable[[], T]:
        """The other thing: begins when somebody is inside."""

        def overtaking() -> T:
            self._inside.wait(timeout=20)
            try:
                return call()
            finally:
                self._done.set()

        return overtaking


@contextmanager
def without_constraint(model: type[models.Model], name: str) -> Iterator[None]:
    """A database without this constraint; the table is emptied before the constraint comes back."""
    (constraint,) = [c for c in model._meta.constraints if c.name == name]
    with connection.schema_editor() as editor:
        editor.remove_constraint(model, constraint)
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute(f"TRUNCATE {model._meta.db_table} CASCADE")
        with connection.schema_editor() as editor:
            editor.add_constraint(model, constraint)
