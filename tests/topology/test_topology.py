"""Several machines as processes: what one machine makes all have, and a storm of faults loses nothing."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
import urllib3

from tests.integration.cluster import put_cluster
from tests.topology.processes import PROJECT, Topology
from tests.topology.programs import free_ports, missing_programs, required, status_of
from tests.topology.storm import Plan, Storm

if TYPE_CHECKING:
    from pytest_django import DjangoDbBlocker

CADDYFILE = PROJECT / "deploy" / "caddy" / "Caddyfile"
pytestmark = [pytest.mark.topology, pytest.mark.timeout(900)]


@pytest.fixture(autouse=True, scope="module")
def programs() -> None:
    """Leave the tests out where a server is missing, and fail them with CI=true."""
    if missing := missing_programs():
        if os.environ.get("CI") == "true":
            pytest.fail(
                f"The topology must be tried with CI=true, but there is no {' and no '.join(missing)}."
            )
        pytest.skip(f"no {' and no '.join(missing)}")


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    """A directory of its own: pytest closes its own ones, in which PostgreSQL's account could not work."""
    with tempfile.TemporaryDirectory(prefix="tomannot-topology-") as place:
        yield Path(place)


@pytest.fixture(scope="module")
def topology(
    programs: None, static_root: Path, django_db_setup: None, django_db_blocker: DjangoDbBlocker, place: Path
) -> Iterator[Topology]:
    """The machines, under a path of the public address."""
    (place / "t").mkdir()
    put_cluster(place / "t", django_db_blocker)
    with Topology(place / "t", "/study") as topology:
        yield topology


def test_machines_share_uploads_and_releases_under_a_path(topology: Topology) -> None:
    """A command's upload is imported by a worker; a worker's release is downloaded from each web node."""
    job = topology.world("upload", {"slug": "uploaded", "stories": 5})
    assert topology.world("imported", job) == "imported"
    assert topology.world(
        "make", {"slug": "shared", "studies": 1, "stories": 2, "people": 3, "answered": True}
    )
    release = topology.world("released", topology.world("publish", "shared"))
    assert release["state"] == "published"
    assert "README.md" in release["files"]
    root = topology.url.removesuffix("/study")
    for web in (root, *(url.removesuffix("/study") for url in topology.web_urls)):
        for name, sha256 in release["files"].items():
            got = urllib3.request("GET", f"{web}{release['page']}files/{name}", retries=False)
            assert (got.status, hashlib.sha256(got.data).hexdigest()) == (200, sha256), (web, name)


def test_caddy_passes_requests_on_while_the_web_server_is_ready(place: Path) -> None:
    """The configuration that docker-compose.yml mounts, without HTTPS, which needs a name in public."""
    port, admin = free_ports(2)
    public, log = f"http://127.0.0.1:{port}", place / "caddy.log"
    command = [required("caddy"), "run", "--config", str(CADDYFILE), "--adapter", "caddyfile"]
    with web_server() as (web, ready), log.open("wb") as said:
        environment = {"PUBLIC_URL": public, "WEB": web, "HOME": str(place)}
        caddy = subprocess.Popen(
            command, env=environment | {"CADDY_ADMIN": f"127.0.0.1:{admin}"}, stdout=said, stderr=said
        )
        try:
            wait_for_status(f"{public}/releases/", 200, log)
            ready.clear()  # Caddy asks every five seconds
            wait_for_status(f"{public}/releases/", 503, log)
        finally:
            caddy.kill()
            caddy.wait()


@contextmanager
def web_server() -> Iterator[tuple[str, threading.Event]]:
    """A web server with pages, which says that it is ready for as long as the event is set."""
    ready = threading.Event()
    ready.set()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == "/releases/" or ready.is_set() else 503)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}).start()
    yield f"127.0.0.1:{server.server_address[1]}", ready
    server.shutdown()
    server.server_close()


def wait_for_status(url: str, wanted: int, log: Path) -> None:
    deadline = time.monotonic() + 60
    while (status := status_of(url)) != wanted:
        assert time.monotonic() < deadline, f"{status}: {log.read_text()[-2000:]}"
        time.sleep(0.2)


def test_a_storm_sees_a_lost_vote_though_it_is_given_again() -> None:
    """The story is served again after its receipt: the first answers stay those that must be stored."""
    storm = Storm(cast(Topology, SimpleNamespace(postgres=SimpleNamespace(url="postgresql://"))), Plan())
    for acknowledged in (False, True, False, True):
        storm.note(1, 2, {"q1": "yes" if not storm.report.forms else "no"}, acknowledged=acknowledged)
    assert storm.report.forms == {"served again after a receipt": 1}
    assert storm.sent == {1: (2, {"q1": "yes"}, True)}


@pytest.mark.parametrize(
    "plan",
    [
        pytest.param(
            Plan(seconds=2, waves=2, people=4, stories=15, fewest=60, longest_fault=0.8, rest=0.3), id="short"
        ),
        pytest.param(
            Plan(seconds=180, waves=8, people=64, stories=400, longest_fault=5, rest=5, long=True),
            id="long",
            marks=pytest.mark.torture,
        ),
    ],
)
def test_a_storm_of_faults_loses_nothing_and_counts_nothing_twice(
    plan: Plan, topology: Topology, capsys: pytest.CaptureFixture[str]
) -> None:
    """Under a path, as the machines are here; ``python -m tests.topology`` does so without one."""
    report = Storm(topology, plan).run()
    with capsys.disabled():
        sys.stdout.write(f"\n{report.table()}\n")
    assert report.failures == {}, "\n".join(report.refusals)
    assert len(report.faults) == 12 + plan.long, "each kind of fault came"
    kinds = ("acknowledged", "sent twice", "late", "forged")
    assert all(report.forms[kind] for kind in kinds), report.forms
    assert report.check["surplus"], "late forms came after others had the slot, or counted again"
