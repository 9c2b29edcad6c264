"""File locks (flock) that record which processes use the embedded servers.

A lock belongs to an open file, and the kernel drops it when the last process with the file open ends, in any
way (SIGKILL included). That is why we use locks, not pid files. Python opens files close-on-exec, so no
program started later inherits a lock by accident.
"""

import errno
import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from tomannot.embedded.errors import OR_GIVE_URLS, EmbeddedServerError

if sys.platform != "win32":
    import fcntl

POLL_SECONDS = 0.05


def wait_until(condition: Callable[[], bool], seconds: float) -> bool:
    """Return True once the condition is true, or False after ``seconds``."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_SECONDS)
    return True


class FileLock:
    """An open lock file. Closing it, or the end of the process, releases the lock."""

    def __init__(self, path: Path) -> None:
        if sys.platform == "win32":
            raise EmbeddedServerError(
                "The embedded servers run on Linux and macOS only.", f"Use WSL on Windows. {OR_GIVE_URLS}"
            )
        self.path = path
        try:
            self.fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        except PermissionError as error:
            raise EmbeddedServerError(
                f"{path} belongs to another user.",
                "Run this as the user who created that directory, remove the directory, or name another one "
                "with TOMANNOT_VAR.",
            ) from error

    def try_exclusive(self) -> bool:
        return self._try(fcntl.LOCK_EX)

    def wait(self, *, shared: bool = False, seconds: float, waiting: Callable[[], None]) -> None:
        """Wait for the lock, alone or ``shared``. Call ``waiting`` once if it is not free at once.

        Raise TimeoutError after ``seconds``.
        """
        kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        if not self._try(kind):
            waiting()
            if not wait_until(lambda: self._try(kind), seconds):
                raise TimeoutError(f"{self.path} was not free within {seconds:.0f} seconds")

    def exclusive_whenever(self) -> None:
        """Wait without limit until no other process holds the lock."""
        fcntl.flock(self.fd, fcntl.LOCK_EX)

    def unlock(self) -> None:
        fcntl.flock(self.fd, fcntl.LOCK_UN)

    def close(self) -> None:
        with suppress(OSError):
            os.close(self.fd)

    def _try(self, kind: int) -> bool:
        try:
            fcntl.flock(self.fd, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError as error:
            if error.errno not in (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS):
                raise
            raise EmbeddedServerError(
                f"The file system of {self.path.parent} cannot lock files.",
                f"Name a directory on a local disk with TOMANNOT_VAR. {OR_GIVE_URLS}",
            ) from error
        return True
