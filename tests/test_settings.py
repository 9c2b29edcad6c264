"""What the settings refuse at the start."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from django.conf import settings


@pytest.mark.parametrize(
    "name", ["S3_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "HF_ENDPOINT"]
)
def test_a_password_in_the_address_of_a_store_is_refused_and_not_repeated(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import tomannot.settings"],
        cwd=settings.BASE_DIR, env={**os.environ, name: "https://someone:pass-word@store.example.org"},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert f"ImproperlyConfigured: {name} must be an address without a user name or password" in done.stderr
    assert "pass-word" not in done.stdout + done.stderr
