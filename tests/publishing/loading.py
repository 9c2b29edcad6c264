"""Releases as the library ``datasets`` loads them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

LOADER = """
import json, os, socket, sys
def refuse(*args, **kwargs):
    raise RuntimeError("the network was used")
socket.socket.connect = refuse
from datasets import load_dataset
found = []
for place, configs in json.loads(sys.argv[1]):
    found.append({})
    for config in configs:
        loaded = load_dataset(place, config)
        assert list(loaded) == ["test"], loaded
        found[-1][config] = {"rows": loaded["test"].to_list(), "features": repr(loaded["test"].features)}
json.dump(found, sys.stdout)
"""
Loaded = dict[str, Any]


def load_all(cache: Path, *wanted: tuple[Path, tuple[str, ...]], version: str = "") -> list[Loaded]:
    """The configs of each of these releases as ``datasets`` loads them in a process without network.

    Another ``version`` than the installed one comes from the package index, with what it needs.
    """
    python = [sys.executable]
    if version:
        uv = [str(Path(sys.executable).parent / "uv"), "run", "--isolated", "--no-project", "--quiet"]
        python = [*uv, "--python", sys.executable, "--with", f"datasets=={version}", "python"]
    environment = {
        **os.environ,
        "HF_HUB_OFFLINE": "1",
        "HF_DATASETS_CACHE": str(cache),
        "HF_HOME": str(cache),
    }
    jobs = json.dumps([(str(place), configs) for place, configs in wanted])
    done = subprocess.run(
        [*python, "-c", LOADER, jobs], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    loaded: list[Loaded] = json.loads(done.stdout)
    return loaded
