"""The machine's properties, and the CPU time of processes."""

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
    """Return user and system seconds of these processes, their living descendants and reaped children."""
    total = 0.0
    for root in roots:
        for process in [root, *root.children(recursive=True)]:
            with suppress(psutil.NoSuchProcess):  # a database session that has just ended: its parent has it
                times = process.cpu_times()
                total += times.user + times.system + times.children_user + times.children_system
    return total


def postmaster(var: Path) -> psutil.Process:
    """Return the main process of a state directory's embedded PostgreSQL."""
    return psutil.Process(int((var / "postgres" / "postmaster.pid").read_text().splitlines()[0]))


def web_server_process(port: int) -> psutil.Process:
    """Return the web server on this port that this process has started."""
    return next(
        process
        for process in psutil.Process().children()
        if "granian" in process.cmdline() and str(port) in process.cmdline()
    )


@dataclass(frozen=True, slots=True)
class Usage:
    """CPU seconds up to a moment."""

    server: float
    postgres: float
    machine: float
    """Return the CPU seconds of all processes on the machine."""

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
    """Return the number of cores that this process and its children may use."""
    return len(os.sched_getaffinity(0))


def load() -> float:
    """Return the load average over the last minute."""
    return round(os.getloadavg()[0], 2)


def describe() -> dict[str, str | int]:
    """Describe the machine in words and numbers."""
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
    """Return the command of a process that sets up Django and runs a module's ``main()``."""
    code = f"import django; django.setup(); from {module} import main; main()"
    return [sys.executable, "-c", code, *arguments]
