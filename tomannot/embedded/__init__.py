"""Run PostgreSQL and Redis on a machine that has neither, for as long as any process uses them.

``provide()`` is the interface. The life cycle relies on three lock files in the state directory
(see ``locks``), never on counters or on clean-up code that a crash would skip:

``users.lock``
    every process that uses the servers holds it *shared* for its whole life;
``start.lock``
    held while a process checks whether the servers run, and starts or adopts them;
``keeper.lock``
    held by the keeper, a small detached process, for its whole life.

The keeper sleeps until it gets ``users.lock`` *exclusively*. Then no user is alive, even if the last
one was killed with SIGKILL, and it stops the servers. It releases ``keeper.lock`` before
``users.lock``, so that a new user waits, and then knows that a new keeper is needed.
The keeper starts before the servers, so that it also cleans up an interrupted start.
Servers that outlived their keeper are adopted by the next user.
"""

import atexit
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tomannot.embedded.errors import OR_GIVE_URLS, EmbeddedServerError
from tomannot.embedded.locks import FileLock

PROJECT = Path(__file__).resolve().parent.parent.parent
START_LOCK_SECONDS = 180.0
KEEPER_STOPS_SECONDS = 90.0


@dataclass(frozen=True)
class _Use:
    """This process's use of one state directory."""

    var: Path
    users: FileLock
    linger: float
    pid: int


_uses: dict[Path, _Use] = {}


def are_needed() -> bool:
    """Return True if the environment names no PostgreSQL or no Redis."""
    return not (os.environ.get("DATABASE_URL") and os.environ.get("REDIS_URL"))


def state_directory() -> Path:
    """Return TOMANNOT_VAR, or ``var`` in the project."""
    return Path(os.environ.get("TOMANNOT_VAR") or PROJECT / "var").resolve()


def provide(
    var: Path | None = None,
    *,
    fsync: bool = True,
    linger: float = 2.0,
    progress: Callable[[str], None] = lambda _line: None,
) -> None:
    """Make sure that PostgreSQL and Redis run, and keep them running while this process lives.

    A server whose URL is in the environment is left alone. Otherwise a running server of the state directory
    ``var`` is adopted, or a new one started. A missing database is created, and DATABASE_URL and REDIS_URL
    are set in ``os.environ``. With ``fsync=False``, new servers trade durability for speed (tests). The
    servers outlive their last user by ``linger`` seconds, so that consecutive commands share them.
    ``progress`` gets one line per slow step. Calling this again is harmless.

    Raise EmbeddedServerError with the problem and its remedy.
    """
    if are_needed():
        var = (var or state_directory()).resolve()
        _make(var)
        with _start_lock(var, progress):
            use = _uses.get(var) or _enter(var, linger, progress)
            try:
                _ensure_keeper(use)
                _provide_missing(var, fsync=fsync, progress=progress)
            except BaseException:
                _leave(var)
                raise
            atexit.register(_at_exit, use)


def release(var: Path | None = None, *, seconds: float = 30.0) -> bool:
    """End this process's use and wait until the servers have stopped.

    Return False if they still run after ``seconds`` because other processes use them.
    """
    var = (var or state_directory()).resolve()
    if var not in _uses:
        return True
    _leave(var)
    keeper = FileLock(var / "keeper.lock")
    try:
        keeper.wait(seconds=seconds, waiting=lambda: None)
    except TimeoutError:
        return False
    finally:
        keeper.close()
    return True


def _make(var: Path) -> None:
    try:
        var.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise EmbeddedServerError(
            f"The state directory {var} cannot be created: {error.strerror}.",
            f"Name another directory with TOMANNOT_VAR. {OR_GIVE_URLS}",
        ) from error


@contextmanager
def _start_lock(var: Path, progress: Callable[[str], None]) -> Iterator[None]:
    lock = FileLock(var / "start.lock")
    try:
        lock.wait(
            seconds=START_LOCK_SECONDS,
            waiting=lambda: progress("waiting for another process to start the servers"),
        )
        yield
    except TimeoutError as error:
        raise EmbeddedServerError(
            f"Another process has been starting the servers of {var} for {START_LOCK_SECONDS:.0f} seconds.",
            f"Find that process (it holds {lock.path}), stop it and try again. {OR_GIVE_URLS}",
        ) from error
    finally:
        lock.close()


def _enter(var: Path, linger: float, progress: Callable[[str], None]) -> _Use:
    users = FileLock(var / "users.lock")
    try:
        users.wait(
            shared=True,
            seconds=KEEPER_STOPS_SECONDS,
            waiting=lambda: progress("waiting until the servers have stopped"),
        )
    except TimeoutError as error:
        users.close()
        raise EmbeddedServerError(
            f"The servers of {var} have been stopping for {KEEPER_STOPS_SECONDS:.0f} seconds.",
            f"Read {var / 'keeper.log'}, stop them by hand and try again. {OR_GIVE_URLS}",
        ) from error
    use = _uses[var] = _Use(var, users, linger, os.getpid())
    return use


def _leave(var: Path) -> None:
    _uses.pop(var).users.close()


def _ensure_keeper(use: _Use) -> None:
    """Start a keeper unless one is alive. It inherits ``keeper.lock``, so there is never a gap."""
    lock = FileLock(use.var / "keeper.lock")
    try:
        if not lock.try_exclusive():
            return
        command = [sys.executable, "-m", "tomannot.embedded", str(use.var), str(lock.fd), str(use.linger)]
        with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as output:
            started = subprocess.run(
                command,
                cwd=PROJECT,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                pass_fds=[lock.fd],
                timeout=60,
                check=False,
            )
            output.seek(0)
            if started.returncode:
                raise EmbeddedServerError(
                    f"The process that stops the servers could not be started:\n{output.read().strip()}",
                    f"Install the requirements (make setup). {OR_GIVE_URLS}",
                )
    finally:
        lock.close()


def _provide_missing(var: Path, *, fsync: bool, progress: Callable[[str], None]) -> None:
    try:
        from tomannot.embedded.postgres import Postgres
        from tomannot.embedded.redis_server import Redis
        from tomannot.embedded.system import server_account

        account = server_account()
    except ImportError as error:
        raise EmbeddedServerError(
            f"A package that the embedded servers need is not installed: {error}.",
            f"Install the requirements (make setup). {OR_GIVE_URLS}",
        ) from error
    for name, kind in (("DATABASE_URL", Postgres), ("REDIS_URL", Redis)):
        if not os.environ.get(name):
            server = kind(var, account=account, progress=progress)
            server.provide(fsync=fsync)
            os.environ[name] = server.url


def _at_exit(use: _Use) -> None:
    """Make sure that a keeper is alive, in case ours was killed. Forked children do nothing."""
    if _uses.get(use.var) is use and use.pid == os.getpid():
        _ensure_keeper(use)
