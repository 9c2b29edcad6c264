"""``make demo-mturk``'s command as a person runs it: a campaign from the first HIT to the last payment."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.test_demo import wait_until_nothing_runs
from tomannot import embedded

SEED = 21
"""With it one of three does not agree to the consent text, and is shown the test again and again."""


@pytest.mark.torture  # its parts always run: the double and its crowd, campaigns, and real servers
@pytest.mark.timeout(300)
def test_two_workers_are_paid_what_both_books_say_though_a_third_one_declines() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    before = set(Path(tempfile.gettempdir()).glob("tomannot-demo-mturk-*"))
    done = subprocess.run(
        [
            *(sys.executable, "-m", "tests.demo_mturk", "--until-done"),
            *("--workers", "3", "--seed", str(SEED), "--port", str(port)),
        ],
        cwd=embedded.PROJECT,
        env={name: value for name, value in os.environ.items() if name != "PUBLIC_URL"},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (paid,) = re.findall(r"money: ([0-9.]+) USD paid by our books, \1 USD by the platform's", done.stdout)
    assert float(paid) >= 5.0, "two took the test"
    assert "mismatches that nobody has dealt with: 0" in done.stdout
    left = set(Path(tempfile.gettempdir()).glob("tomannot-demo-mturk-*")) - before
    for state in left:
        wait_until_nothing_runs(state)
    assert not left
