"""The version of the code that builds a release."""

import os
import subprocess
import tomllib
from functools import cache
from pathlib import Path

from django.conf import settings

REVISION_VARIABLE = "TOMANNOT_REVISION"
"""Names the git revision if there is no repository, as in a container image."""


@cache
def code_version() -> str:
    """Return ``<version>+<git revision>`` of the running code.

    Ends in ``.dirty`` if files differ from the revision. Only the version if the revision is unknown. Read
    once per process.
    """
    root = Path(settings.BASE_DIR)
    version = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    revision = os.environ.get(REVISION_VARIABLE, "")
    if not revision and (root / ".git").exists():
        revision = _git(root, "rev-parse", "--short=12", "HEAD")
        changed = _git(root, "status", "--porcelain", "--untracked-files=no")
        revision += ".dirty" if revision and changed else ""
    return f"{version}+{revision}" if revision else str(version)


def _git(root: Path, *arguments: str) -> str:
    """Return git's output; empty if git is missing or does not trust the directory."""
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *arguments], capture_output=True, text=True, timeout=10, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()
