"""PostgreSQL or a web worker goes away under a web server: no 500, and nobody has to do anything."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import parse_qs, urlsplit

import psutil
import pytest
import urllib3
from django.db import connection

from tests.conftest import database_url
from tests.integration.servers import running
from tests.topology.cable import Cable
from tomannot.postgresql.base import check_connection

if TYPE_CHECKING:
    from pytest_django import DjangoDbBlocker

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(120)]


def connect() -> socket.socket:
    """Connect to PostgreSQL, on its socket or port."""
    there = urlsplit(database_url())
    host = parse_qs(there.query).get("host", [there.hostname or ""])[0]
    if not host.startswith("/"):
        return socket.create_connection((host, there.port or 5432))
    end = socket.socket(socket.AF_UNIX)
    end.connect(f"{host}/.s.PGSQL.{there.port or 5432}")
    return end


def by_way_of(cable: Cable) -> str:
    """Return the database's address at the near end of the cable."""
    there = urlsplit(database_url())
    name, port = there.path.removeprefix("/"), cable.server_address[1]
    return f"postgresql://{there.username}:{there.password or ''}@127.0.0.1:{port}/{name}"


class Site(NamedTuple):
    address: str
    cable: Cable


@pytest.fixture(scope="module")
def site(
    django_db_setup: None,
    django_db_blocker: DjangoDbBlocker,
    static_root: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Site]:
    """A web server that reaches its database by way of a cable; each test leaves it working."""
    with django_db_blocker.unblock():
        cable = Cable(connect)
        address = by_way_of(cable)
    environment = {**os.environ, "DATABASE_URL": address, "STATIC_ROOT": str(static_root)}
    logs = tmp_path_factory.mktemp("logs")
    with running(environment, logs, web_workers=2, with_worker=False) as address:
        yield Site(address, cable)
    cable.shutdown()
    cable.server_close()


def get(address: str, path: str = "/") -> urllib3.BaseHTTPResponse:
    return urllib3.request("GET", address + path, retries=False, timeout=20)


def test_no_request_meets_a_database_that_was_restarted(site: Site) -> None:
    assert connection.pool._check is check_connection  # type: ignore[attr-defined]
    assert {get(site.address).status for _ in range(24)} == {200}
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        assert cursor.fetchone()[0] >= 2  # the connections of the web server's workers, as in a restart
    time.sleep(
        0.5
    )  # until the closing of each has arrived; a request before that fails as one under way does
    assert {get(site.address).status for _ in range(24)} == {200}


def test_a_database_that_is_away_is_said_so_and_found_again(site: Site) -> None:
    assert get(site.address).status == 200
    site.cable.cut()
    began = time.monotonic()
    page, problem = get(site.address), get(site.address, "/api/v1/studies/")
    assert time.monotonic() - began < 15
    assert (page.status, page.headers["Retry-After"]) == (503, "5")
    assert "We can’t reach our records at the moment" in page.data.decode()
    assert problem.status in (401, 503)

    site.cable.is_cut = False
    began = time.monotonic()
    while (status := get(site.address).status) != 200:
        assert status == 503
        assert time.monotonic() - began < 10
        time.sleep(0.2)


def test_a_dead_web_worker_is_replaced(site: Site) -> None:
    server = next(
        process for process in psutil.Process().children(recursive=True) if "granian" in process.cmdline()
    )
    before = [child.pid for child in server.children(recursive=True) if not child.children()]
    for worker in before:
        psutil.Process(worker).kill()
    began = time.monotonic()
    while True:
        with suppress(urllib3.exceptions.HTTPError):
            if get(site.address).status == 200:
                break
        assert time.monotonic() - began < 30
        time.sleep(0.2)
    after = {child.pid for child in server.children(recursive=True)}
    assert not after & set(before)
