"""What the settings refuse at the start."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from celery import Celery
from django.conf import settings
from kombu.exceptions import OperationalError

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


SHOW = """
import manage  # first of all, as from a shell
from django.conf import settings
print(settings.PUBLIC_URL, settings.IMPORT_MAX_MB, settings.SESSION_COOKIE_PATH)
print(*settings.SECRET_KEY_FALLBACKS)
"""


def test_a_file_gives_what_the_environment_leaves_open(tmp_path: Path) -> None:
    file = tmp_path / ".env"
    file.write_text(
        "PUBLIC_URL=https://example.org/study\nIMPORT_MAX_MB=7\nSECRET_KEY_FALLBACKS=one,two\n",
        encoding="utf-8",
    )
    environment = {**os.environ, "TOMANNOT_ENV_FILE": str(file), "IMPORT_MAX_MB": "8"}
    environment |= {"DJANGO_SETTINGS_MODULE": "tomannot.settings"}
    environment.pop("PUBLIC_URL", None)
    done = subprocess.run(
        [sys.executable, "-c", SHOW],
        cwd=settings.BASE_DIR,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout.split() == ["https://example.org/study", "8", "/study", "one", "two"]


def test_a_broker_that_is_frozen_costs_two_seconds_and_no_more() -> None:
    names = ("broker_transport_options", "task_publish_retry", "task_ignore_result")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        app = Celery("frozen", broker=f"redis://127.0.0.1:{silent.getsockname()[1]}/0")
        app.conf.update({name: getattr(settings, f"CELERY_{name.upper()}") for name in names})
        began = time.monotonic()
        with pytest.raises(OperationalError):
            app.send_task("a.task")
        assert time.monotonic() - began < 4
