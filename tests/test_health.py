"""What load balancers and monitors are told, and the clock that all processes share."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import psycopg
import pytest
from django.core.management import call_command
from django.core.management.base import SystemCheckError
from django.db import DatabaseError, connection
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client, RequestFactory
from django.utils import timezone
from kombu import Connection

from api.problems import server_error
from tomannot import clock, health
from tomannot.celery import app
from tomannot.clock import now as database_now

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "_migrated", False)
    monkeypatch.setattr(clock, "_known", None)


def test_a_process_that_can_work_says_so(client: Client) -> None:
    assert client.get("/healthz").content == b"ok\n"
    ready = client.get("/readyz")
    assert (ready.status_code, ready.json()) == (200, {"ready": True, "problems": {}})


def test_monitors_are_not_sent_to_https(client: Client, settings: Any) -> None:
    settings.SECURE_SSL_REDIRECT = True
    assert client.get("/readyz").status_code == 200
    assert client.get("/").status_code == 301


def test_what_is_missing_is_named(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    MigrationRecorder(connection).record_unapplied("publishing", "0001_initial")
    monkeypatch.setattr(app, "connection_for_write", lambda: Connection("redis://127.0.0.1:1"))
    ahead = timezone.now() + timedelta(minutes=45)
    monkeypatch.setattr(timezone, "now", lambda: ahead)

    answer = client.get("/readyz")

    assert answer.status_code == 503
    problems = answer.json()["problems"]
    assert list(problems) == ["migrations", "broker", "clock"]
    assert problems["migrations"] == "1 not applied: run manage.py migrate"
    assert problems["clock"].startswith("+27")  # 2,700 s


def test_an_old_server_is_refused_before_anything_is_migrated(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "MINIMUM_POSTGRESQL", 99)
    told = f"PostgreSQL {health.server_version()} is too old: tomannot needs 99 or newer"
    assert client.get("/readyz").json()["problems"] == {"database": told}
    with pytest.raises(SystemCheckError, match=told):
        call_command("migrate", "--plan", skip_checks=False)


@pytest.mark.parametrize(
    ("cause", "status"),
    [
        (psycopg.InternalError("received 2 results from command 'COMMIT'"), 503),  # of a server that ends
        (psycopg.OperationalError("server closed the connection"), 503),
        (psycopg.errors.AdminShutdown(), 503),
        (psycopg.errors.DeadlockDetected(), 500),
        (psycopg.errors.DataCorrupted(), 500),
    ],
    ids=lambda given: type(given).__name__ if isinstance(given, Exception) else "",
)
def test_only_a_server_that_is_away_is_a_reason_to_try_again(cause: psycopg.Error, status: int) -> None:
    try:
        with connection.wrap_database_errors:
            raise cause
    except DatabaseError:
        assert server_error(RequestFactory().get("/")).status_code == status


def test_a_clock_that_is_wrong_or_set_does_not_move_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = timezone.now() + timedelta(minutes=45)
    monkeypatch.setattr(timezone, "now", lambda: wrong)
    with connection.cursor() as cursor:
        for _ in range(2):  # asked, and gone on with
            cursor.execute("SELECT clock_timestamp()")
            assert abs(cursor.fetchone()[0] - database_now()) < timedelta(seconds=2)
    assert clock.skew() > timedelta(minutes=44)


def test_the_clock_asks_once_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    ask = clock._ask

    def count() -> datetime:
        asked.append(1)
        return ask()

    monkeypatch.setattr(clock, "_ask", count)
    assert database_now() <= database_now()
    assert len(asked) == 1
    monkeypatch.setattr(clock, "ASK_AGAIN_SECONDS", 0.0)
    database_now()
    assert len(asked) == 2
