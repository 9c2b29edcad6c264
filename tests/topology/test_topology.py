"""Several machines as processes: what one machine makes all have, and a storm of faults loses nothing."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
import urllib3

from tests.integration.servers import running
from tests.topology.processes import PROJECT, Topology, free_ports, missing_programs, required, status_of
from tests.topology.storm import Plan, Storm

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
def topology(programs: None, static_root: Path, place: Path) -> Iterator[Topology]:
    """The machines, under a path of the public address: starting them is half a minute of work."""
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


@pytest.mark.django_db(transaction=True)
def test_caddy_passes_requests_on_while_the_web_server_is_ready(
    child_environment: dict[str, str], place: Path, tmp_path: Path
) -> None:
    """The configuration that docker-compose.yml mounts, without HTTPS, which needs a name in public."""
    port, admin = free_ports(2)
    public, log = f"http://127.0.0.1:{port}", place / "caddy.log"
    command = [required("caddy"), "run", "--config", str(CADDYFILE), "--adapter", "caddyfile"]
    with running(child_environment, tmp_path / "logs", with_worker=False) as web, log.open("wb") as said:
        caddy = subprocess.Popen(
            command,
            env={
                "PUBLIC_URL": public,
                "WEB": web.removeprefix("http://"),
                "HOME": str(place),
                "CADDY_ADMIN": f"127.0.0.1:{admin}",
            },
            stdout=said,
            stderr=said,
        )
        try:
            wait_for_status(f"{public}/releases/", 200, log)
        except BaseException:
            caddy.kill()
            raise
    try:
        wait_for_status(
            f"{public}/releases/", 503, log
        )  # by /readyz; without it Caddy would try, and say 502
    finally:
        caddy.kill()
        caddy.wait()


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
        pytest.param(Plan(seconds=2, waves=2, people=6, longest_fault=1, rest=0.5), id="short"),
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
