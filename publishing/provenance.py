"""The version of the code that builds a release."""

import os
import subprocess
import tomllib
from contextlib import suppress
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
        describe = ["git", "describe", "--always", "--exclude=*", "--abbrev=12", "--dirty=.dirty"]
        with suppress(OSError, subprocess.SubprocessError):  # git is missing or does not trust the directory
            revision = subprocess.check_output(
                describe, cwd=root, stderr=subprocess.DEVNULL, text=True, timeout=10
            ).strip()
    return f"{version}+{revision}" if revision else str(version)
