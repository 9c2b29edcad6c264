"""What the machine is, and which processes spend its time."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil


def cpu_seconds(roots: Iterable[psutil.Process]) -> float:
    """User and system time of these processes, their living descendants, and their reaped children."""
    total = 0.0
    for root in roots:
        for process in [root, *root.children(recursive=True)]:
            with suppress(psutil.NoSuchProcess):  # a database session that has just ended: its parent has it
                times = process.cpu_times()
                total += times.user + times.system + times.children_user + times.children_system
    return total


def postmaster(var: Path) -> psutil.Process:
    """The main process of the embedded PostgreSQL of a state directory."""
    return psutil.Process(int((var / "postgres" / "postmaster.pid").read_text().splitlines()[0]))


def web_server(port: int) -> psutil.Process:
    """The web server on this port that the present process has started."""
    return next(
        process
        for process in psutil.Process().children()
        if "granian" in process.cmdline() and str(port) in process.cmdline()
    )


@dataclass(frozen=True, slots=True)
class Usage:
    """CPU seconds up to one moment."""

    server: float
    postgres: float
    machine: float
    """All processes of the machine together."""

    @classmethod
    def now(cls, *, server: Iterable[psutil.Process], postgres: psutil.Process) -> Usage:
        every = psutil.cpu_times()
        busy = sum(every) - every.idle - every.iowait - every.guest - every.guest_nice
        return cls(cpu_seconds(server), cpu_seconds([postgres]), busy)

    def since(self, before: Usage) -> Usage:
        return Usage(
            self.server - before.server, self.postgres - before.postgres, self.machine - before.machine
        )


def cores() -> int:
    """Cores that this process, and so everything it starts, may use."""
    return len(os.sched_getaffinity(0))


def load() -> float:
    """The load average over the last minute."""
    return round(os.getloadavg()[0], 2)


def describe() -> dict[str, str | int]:
    """The machine in words and numbers."""
    cpuinfo = Path("/proc/cpuinfo")
    names = [
        line.partition(":")[2].strip()
        for line in (cpuinfo.read_text().splitlines() if cpuinfo.exists() else ())
        if line.startswith("model name")
    ]
    return {
        "cpu": names[0] if names else platform.processor() or platform.machine(),
        "cores": cores(),
        "memory_gib": round(psutil.virtual_memory().total / 2**30),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
    }


def django_process(module: str, *arguments: str) -> list[str]:
    """The command of a process that runs ``main()`` of a module once Django is set up."""
    code = f"import django; django.setup(); from {module} import main; main()"
    return [sys.executable, "-c", code, *arguments]
