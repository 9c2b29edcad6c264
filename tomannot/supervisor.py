"""Run several programs together: if one ends, all end, and none outlives its supervisor.

Each program gets its own process group and log file. The leash, a small process, reads the groups' ids
from a pipe and ends the groups when the pipe closes. The kernel closes it however the supervisor ends,
SIGKILL included.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

STOP_SECONDS = 10.0
"""A program that has not ended this long after SIGTERM is killed. Celery tasks are safe to repeat."""

POLL_SECONDS = 0.2


@dataclass(frozen=True)
class Program:
    """A program to run, with the name of its log file."""

    name: str
    command: Sequence[str]


class ProgramEnded(RuntimeError):
    def __init__(self, program: Program, status: int, log: Path) -> None:
        how = f"was ended by {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"
        super().__init__(f"The {program.name} process {how}.")
        self.program = program
        self.log = log


@dataclass
class Supervisor:
    """Context manager that starts programs and ends them all on exit."""

    programs: Sequence[Program]
    environment: Mapping[str, str]
    cwd: Path
    logs: Path
    _running: list[tuple[Program, subprocess.Popen[bytes]]] = field(default_factory=list, init=False)
    _leash: subprocess.Popen[str] | None = field(default=None, init=False)

    def __enter__(self) -> "Supervisor":
        self.logs.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            self._leash = subprocess.Popen(
                [sys.executable, "-m", "tomannot.supervisor"],
                cwd=self.cwd,
                stdin=subprocess.PIPE,
                text=True,
                start_new_session=True,
            )
            for program in self.programs:
                self._start(program)
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_error: object) -> None:
        self.stop()

    def log_of(self, program: Program) -> Path:
        return self.logs / f"{program.name}.log"

    def check(self) -> None:
        """Raise :class:`ProgramEnded` if one of the programs has ended."""
        for program, process in self._running:
            status = process.poll()
            if status is not None:
                raise ProgramEnded(program, status, self.log_of(program))

    def watch(self) -> None:
        """Wait until one of the programs ends, then raise :class:`ProgramEnded`."""
        while True:
            self.check()
            time.sleep(POLL_SECONDS)

    def stop(self) -> None:
        """End all programs and wait; kill those that do not end in time."""
        end_groups([process.pid for _, process in self._running], reap=self._reap)
        self._running.clear()
        if self._leash is not None:
            self._leash.communicate()
            self._leash = None

    def _start(self, program: Program) -> None:
        with open(self.log_of(program), "wb") as log:
            process = subprocess.Popen(
                list(program.command),
                cwd=self.cwd,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._running.append((program, process))
        assert self._leash is not None
        assert self._leash.stdin is not None
        self._leash.stdin.write(f"{process.pid}\n")
        self._leash.stdin.flush()

    def _reap(self) -> None:
        for _, process in self._running:
            process.poll()


def end_groups(groups: Sequence[int], *, reap: Callable[[], None]) -> None:
    """Send SIGTERM to process groups, then SIGKILL after ``STOP_SECONDS``, until they are empty.

    ``reap`` is called while waiting, so that a parent can collect its dead children, which count until then.
    """
    for number in (signal.SIGTERM, signal.SIGKILL):
        living = [group for group in groups if _signal(group, number)]
        deadline = time.monotonic() + STOP_SECONDS
        while living and time.monotonic() < deadline:
            reap()
            living = [group for group in living if _signal(group, 0)]
            time.sleep(0.02)
        if not living:
            return


def _signal(group: int, number: int) -> bool:
    """Send a signal (0: none) to a process group. Return False if the group is empty."""
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        return False
    except PermissionError:  # macOS, for a group of zombies only
        return False
    return True


def hold_leash() -> None:
    """Read process groups from standard input, and end them when it closes."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    groups = [int(line) for line in sys.stdin]
    end_groups(groups, reap=lambda: None)


if __name__ == "__main__":
    hold_leash()
