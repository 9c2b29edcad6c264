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
from tomannot.keyed import keyed_hashes

GREATEST_SKEW_SECONDS = 5
"""A machine whose clock is further off says so: its logs and its mails' times would mislead."""

MINIMUM_POSTGRESQL = 15
"""The oldest major version that was tried; the tests run on 18."""
PROOF = "X-Tomannot"
"""The header with which ``/healthz?challenge=…`` proves that it knows this installation's key."""

_migrated = False


@require_safe
def healthz(request: HttpRequest) -> HttpResponse:
    """Say that the process answers. Asks nobody else, so a restart would not be in vain if this fails."""
    response = HttpResponse("ok\n", content_type="text/plain")
    if challenge := request.GET.get("challenge"):
        response.headers[PROOF] = proofs_of(challenge)[0]
    return response


def proofs_of(challenge: str) -> list[str]:
    """Return what only servers with this installation's key, or a former one, answer to a challenge."""
    return keyed_hashes("tomannot.healthz", challenge)


@require_safe
@never_cache
def readyz(_request: HttpRequest) -> JsonResponse:
    """Say whether database, migrations, broker and clock allow work (200), or which does not (503)."""
    found = problems()
    return JsonResponse({"ready": not found, "problems": found}, status=503 if found else 200)


def problems() -> dict[str, str]:
    """Return what keeps this process from working, by the check's name."""
    checks: dict[str, Callable[[], str]] = {
        "database": _database, "migrations": _migrations, "broker": _broker, "clock": _clock,
    }  # fmt: skip
    found = {}
    for name, check in checks.items():
        try:
            problem = check()
        except (DatabaseError, BrokerError) as error:
            problem = type(error).__name__
        if problem:
            found[name] = problem
    return found


def _database() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return too_old()


def server_version() -> int:
    """Return the major version of the PostgreSQL server, such as 18."""
    return int(connection.pg_version // 10_000)  # type: ignore[attr-defined]  # of the PostgreSQL backend


def too_old() -> str:
    """Return a sentence if the database server's version is not supported, or an empty string."""
    version = server_version()
    if version >= MINIMUM_POSTGRESQL:
        return ""
    return f"PostgreSQL {version} is too old: tomannot needs {MINIMUM_POSTGRESQL} or newer"


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
