"""What the settings refuse at the start."""

from __future__ import annotations

import os
import subprocess
import sys

from django.conf import settings

NAMES = ("S3_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "HF_ENDPOINT")
START = """
import os, sys
for name in sys.argv[1:]:
    os.environ[name] = "https://someone:pass-word@store.example.org"
    try:
        import tomannot.settings
    except Exception as refusal:
        print(f"{type(refusal).__name__}: {refusal}")
    del os.environ[name]
    sys.modules.pop("tomannot.settings", None)
"""


def test_a_password_in_the_address_of_a_store_is_refused_and_not_repeated() -> None:
    done = subprocess.run(
        [sys.executable, "-c", START, *NAMES],
        cwd=settings.BASE_DIR,
        env={name: value for name, value in os.environ.items() if name not in NAMES},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    wrong = "must be an address without a user name or password"
    said = done.stdout.splitlines()
    assert len(said) == len(NAMES)
    for name, line in zip(NAMES, said, strict=True):
        assert line.startswith(f"ImproperlyConfigured: {name} {wrong}")
    assert "pass-word" not in done.stdout + done.stderr
