"""Operating-system helpers of the servers: an account, directories, programs, processes.

PostgreSQL refuses to run as root. When tomannot runs as root, the servers run as the system
account ``pgserver`` instead, which owns their data and can pass through the directories above it.
"""

import errno
import os
import pwd
import signal
import stat
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from tomannot.embedded.errors import OR_GIVE_URLS, EmbeddedServerError

Progress = Callable[[str], None]

ACCOUNT = "pgserver"
LINES_SHOWN = 12


@dataclass(frozen=True)
class Account:
    """The account that the servers run as. ``switch`` is false if it is our own."""

    uid: int
    gid: int
    switch: bool

    @property
    def run_as(self) -> dict[str, Any]:
        """Arguments for ``subprocess`` to start a program under this account."""
        return {"user": self.uid, "group": self.gid, "extra_groups": []} if self.switch else {}

    def own(self, path: Path) -> None:
        """Give a file or directory that we made to this account."""
        if self.switch:
            os.chown(path, self.uid, self.gid)


def server_account() -> Account:
    """Return the account for the servers: our own, or for root ``pgserver``, created if missing."""
    if os.geteuid() != 0:
        return Account(os.geteuid(), os.getegid(), switch=False)
    try:
        entry = pwd.getpwnam(ACCOUNT)
    except KeyError:
        _make_account()
        entry = pwd.getpwnam(ACCOUNT)
    return Account(entry.pw_uid, entry.pw_gid, switch=True)


def _make_account() -> None:
    try:
        command = ["useradd", "--system", "--shell", "/bin/false", ACCOUNT]
        subprocess.run(command, check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError) as error:
        said = (getattr(error, "stderr", None) or str(error)).strip()
        raise EmbeddedServerError(
            f"PostgreSQL does not run as root, and the account {ACCOUNT!r} could not be created: {said}",
            f"Run this as an ordinary user, or create the account (useradd {ACCOUNT}). {OR_GIVE_URLS}",
        ) from error


def private_directory(path: Path, account: Account) -> None:
    """Make ``path`` a directory that only ``account`` (and root) can enter."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        account.own(path)
        path.chmod(0o700)
    except PermissionError as error:
        raise EmbeddedServerError(
            f"{path} cannot be created or belongs to another user.",
            "Run this as the user who created it, remove it, or name another directory with TOMANNOT_VAR.",
        ) from error
    if path.is_symlink() or path.stat().st_uid != account.uid:
        raise EmbeddedServerError(
            f"{path} is not a directory of the account that the servers run as.",
            "Remove it, or name another directory with TOMANNOT_VAR.",
        )


def let_pass(path: Path, account: Account, progress: Progress) -> None:
    """Let ``account`` pass through the directories above ``path`` (search permission only)."""
    if not account.switch:
        return
    for directory in path.parents:
        mode = directory.stat().st_mode
        if not mode & stat.S_IXOTH:
            progress(f"letting the account {ACCOUNT} pass through {directory} (chmod o+x)")
            directory.chmod(mode | stat.S_IXOTH)


def let_read(tree: Path, account: Account) -> None:
    """Let ``account`` read and run the files in ``tree``: root may have installed them with umask 077."""
    if not account.switch:
        return
    for path in (tree, *tree.rglob("*")):
        if path.is_symlink():
            continue
        mode = path.stat().st_mode
        wanted = mode | stat.S_IROTH | (stat.S_IXOTH if mode & stat.S_IXUSR else 0)
        if wanted != mode:
            path.chmod(wanted)


def run(command: Sequence[str | Path], *, account: Account, cwd: Path, seconds: float) -> str:
    """Run a server's program to its end and return its output.

    Output goes through a file, because the server that ``pg_ctl`` starts would keep a pipe open for ever.
    Variables such as PGDATA or PGHOST are not passed on. Raise EmbeddedServerError if it fails.
    """
    environment = {name: os.environ[name] for name in ("PATH", "TMPDIR") if name in os.environ}
    program = Path(command[0]).name
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as output:
        try:
            done = subprocess.run(
                [str(part) for part in command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=cwd,
                env={**environment, "LC_ALL": "C"},
                timeout=seconds,
                check=False,
                **account.run_as,
            )
        except subprocess.TimeoutExpired as error:
            raise EmbeddedServerError(
                f"{program} did not finish within {seconds:.0f} seconds.", f"Look at {cwd}. {OR_GIVE_URLS}"
            ) from error
        except OSError as error:
            raise EmbeddedServerError(
                f"{command[0]} cannot be run: {error.strerror}.",
                "Wheels exist for Linux (glibc) and macOS, on x86-64 and ARM: reinstall the requirements, "
                f"and make sure that the disk is not mounted noexec. {OR_GIVE_URLS}",
            ) from error
        output.seek(0)
        said = output.read().strip()
    if done.returncode:
        raise failure(f"{program} failed (exit status {done.returncode})", said)
    return said


def failure(what: str, said: str) -> EmbeddedServerError:
    """Return the error for a failed program, with a remedy chosen by its output."""
    full, closed = os.strerror(errno.ENOSPC), os.strerror(errno.EACCES)
    remedies = {
        full: "The disk is full: free some space, or name another disk's directory with TOMANNOT_VAR.",
        closed: "A directory cannot be entered or written: check its owner, or set TOMANNOT_VAR.",
        "could not create shared memory": "The system has no shared memory left for another PostgreSQL.",
    }
    remedy = next((text for sign, text in remedies.items() if sign in said), OR_GIVE_URLS)
    return EmbeddedServerError(f"{what}:\n{said or '(it said nothing)'}", remedy)


def processes_in(directories: Iterable[Path], names: frozenset[str]) -> list[psutil.Process]:
    """Return the living processes with one of these names and working directories.

    All our server programs start in their data directory. So this finds them even if pid files are wrong,
    and it never returns an unrelated process that reuses an old process id.
    """
    wanted = {str(directory) for directory in directories}
    found = []
    for process in psutil.process_iter():
        try:
            if process.name() in names and process.cwd() in wanted:
                found.append(process)
        except (psutil.NoSuchProcess, psutil.AccessDenied, psutil.ZombieProcess):
            continue  # ended meanwhile, or of another account and so not ours
    return found


def end_families(find: Callable[[], list[psutil.Process]], number: signal.Signals, *, seconds: float) -> bool:
    """Signal the processes that ``find`` returns until none are left. Return False after ``seconds``.

    Only the roots of process trees are signalled, once each: a PostgreSQL server ends its own workers. They
    count as gone only after two empty results in a row, because one program may be starting the next.
    """
    signalled: set[int] = set()
    deadline = time.monotonic() + seconds
    empty_looks = 0
    while empty_looks < 2:
        processes = find()
        empty_looks = 0 if processes else empty_looks + 1
        members = {process.pid for process in processes}
        for process in processes:
            with suppress(psutil.NoSuchProcess):
                if process.pid not in signalled and process.ppid() not in members:
                    process.send_signal(number)
                    signalled.add(process.pid)
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def last_lines(log: Path) -> str:
    if not log.exists():
        return ""
    return "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-LINES_SHOWN:])
