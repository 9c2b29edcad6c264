"""Servers as in production, started for a test on its database."""

from __future__ import annotations

import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import urllib3
from django.conf import settings

from tomannot import web_server
from tomannot.supervisor import Program, Supervisor

START_SECONDS = 120.0
"""Only a server that does not start waits as long; a slow machine with other work must not fail a test."""


@contextmanager
def running(
    environment: dict[str, str],
    logs: Path,
    *,
    web_workers: int = 1,
    with_worker: bool = True,
    with_beat: bool = False,
) -> Iterator[str]:
    """A web server and a Celery worker as in production, but for ``web_workers``; yields the address.

    Production has two; each takes its own time to start.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    python = [sys.executable, "-m"]
    worker = [*python, "celery", "-A", "tomannot", "worker", "--concurrency", "1", "--loglevel", "INFO"]
    web = web_server.command(host="127.0.0.1", port=port)
    web[web.index("--workers") + 1] = str(web_workers)
    programs = [Program("web", web)]
    programs += [Program("worker", worker)] * with_worker
    beat = [*python, "celery", "-A", "tomannot", "beat", "--schedule", str(logs / "beat"), "--pidfile", ""]
    programs += [Program("beat", beat)] * with_beat
    address = f"http://127.0.0.1:{port}"
    environment = environment | {"PUBLIC_URL": address}
    with Supervisor(programs, environment=environment, cwd=settings.BASE_DIR, logs=logs) as supervisor:
        _wait_until_it_answers(address, supervisor)
        yield address
        supervisor.check()


def _wait_until_it_answers(address: str, supervisor: Supervisor) -> None:
    deadline = time.monotonic() + START_SECONDS
    while True:
        supervisor.check()
        try:
            if urllib3.request("GET", f"{address}/", retries=False, timeout=5).status == 200:
                return
        except urllib3.exceptions.HTTPError:
            pass  # not listening yet
        assert time.monotonic() < deadline, "the web server does not answer"
        time.sleep(0.1)
