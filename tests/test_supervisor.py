"""Programs that run together end together, also when who started them is killed."""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from tomannot.embedded import PROJECT
from tomannot.embedded.locks import wait_until
from tomannot.supervisor import Program, ProgramEnded, Supervisor

SECONDS = 60.0
SLEEPERS = """
import sys
from pathlib import Path
from tomannot.supervisor import Program, Supervisor
programs = [Program(name, ["sleep", "600"]) for name in ("web", "worker")]
with Supervisor(programs, environment={}, cwd=Path.cwd(), logs=Path(sys.argv[1])) as supervisor:
    print("started", flush=True)
    supervisor.watch()
"""


def sleepers(parent: int) -> list[psutil.Process]:
    return [one for one in psutil.Process(parent).children(recursive=True) if "sleep" in one.cmdline()]


def test_all_programs_end_with_a_supervisor_that_is_killed(tmp_path: Path) -> None:
    command = [sys.executable, "-c", SLEEPERS, str(tmp_path / "log")]
    programs: list[psutil.Process] = []
    with subprocess.Popen(command, cwd=PROJECT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "started\n"
            assert wait_until(lambda: len(sleepers(process.pid)) == 2, SECONDS)
            programs = psutil.Process(process.pid).children(recursive=True)
        finally:
            process.kill()
    try:
        assert wait_until(lambda: not any(one.is_running() for one in programs), SECONDS), programs
    finally:
        for one in programs:
            with suppress(psutil.NoSuchProcess):
                one.kill()


def test_a_program_that_ends_is_named_and_the_others_end(tmp_path: Path) -> None:
    programs = [Program("web", ["sleep", "600"]), Program("worker", ["sh", "-c", "exit 3"])]
    with (
        pytest.raises(ProgramEnded, match=r"^The worker process ended with status 3\.$"),
        Supervisor(programs, environment={}, cwd=PROJECT, logs=tmp_path / "log") as supervisor,
    ):
        supervisor.watch()
    assert not sleepers(psutil.Process().pid)
