"""Answer load balancers and monitors: is this process alive, and can it work?"""

from collections.abc import Callable

from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from kombu.exceptions import OperationalError as BrokerError

from tomannot import clock
from tomannot.celery import app

GREATEST_SKEW_SECONDS = 5
"""A machine whose clock is further off says so: its logs and its mails' times would mislead."""

_migrated = False


@require_safe
def healthz(_request: HttpRequest) -> HttpResponse:
    """Say that the process answers. Asks nobody else, so a restart would not be in vain if this fails."""
    return HttpResponse("ok\n", content_type="text/plain")


@require_safe
@never_cache
def readyz(_request: HttpRequest) -> JsonResponse:
    """Say whether database, migrations, broker and clock allow work (200), or which does not (503)."""
    checks: dict[str, Callable[[], str]] = {
        "database": _database, "migrations": _migrations, "broker": _broker, "clock": _clock,
    }  # fmt: skip
    problems = {}
    for name, check in checks.items():
        try:
            problem = check()
        except (DatabaseError, BrokerError) as error:
            problem = type(error).__name__
        if problem:
            problems[name] = problem
    return JsonResponse({"ready": not problems, "problems": problems}, status=503 if problems else 200)


def _database() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return ""


def _migrations() -> str:
    global _migrated  # once true, it stays so while this process runs
    if not _migrated:
        executor = MigrationExecutor(connection)
        missing = executor.migration_plan(executor.loader.graph.leaf_nodes())
        if missing:
            return f"{len(missing)} not applied: run manage.py migrate"
        _migrated = True
    return ""


def _broker() -> str:
    with app.connection_for_write() as broker:
        broker.ensure_connection(max_retries=0, timeout=2)
    return ""


def _clock() -> str:
    seconds = clock.skew().total_seconds()
    if abs(seconds) <= GREATEST_SKEW_SECONDS:
        return ""
    return f"{seconds:+.0f} s from the database's clock: synchronize it (NTP)"
