"""Loaded by pytest before Django reads its settings: gives the tests a PostgreSQL and a Redis.

Without DATABASE_URL and REDIS_URL the embedded servers of ``var/test`` are used (fsync off). Several
test runs may use them at the same time: each takes a free slot (a lock file), and with it a test
database and a Redis database of its own.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import pytest

from tomannot import embedded
from tomannot.embedded.locks import FileLock

SLOTS = 16  # a Redis has that many databases


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    scratch = tempfile.TemporaryDirectory(prefix="tomannot-tests-")
    early_config.add_cleanup(scratch.cleanup)
    for name in ("RELEASES_ROOT", "MEDIA_ROOT", "STATIC_ROOT"):
        directory = Path(scratch.name) / name.lower()
        directory.mkdir()
        os.environ[name] = str(directory)
    os.environ["SECRET_KEY"] = "only-for-tests-" + "x" * 40
    os.environ["DEBUG"] = "false"
    os.environ["PUBLIC_URL"] = "http://testserver"
    os.environ["EMAIL_URL"] = "memorymail://"
    if embedded.are_needed():
        _provide_servers(early_config)


def _say(line: str) -> None:
    sys.stderr.write(f"tests: {line}\n")


def _provide_servers(config: pytest.Config) -> None:
    var = (Path(os.environ.get("TOMANNOT_VAR") or embedded.PROJECT / "var") / "test").resolve()
    own_redis = not os.environ.get("REDIS_URL")
    own_database = not os.environ.get("DATABASE_URL")
    try:
        embedded.provide(var, fsync=False, progress=_say)
    except embedded.EmbeddedServerError as error:
        raise pytest.UsageError(str(error)) from error
    number = _take_slot(var, config)
    if own_database:
        os.environ["TEST_DATABASE_NAME"] = f"test_tomannot_{number}"
    if own_redis:
        os.environ["REDIS_URL"] = os.environ["REDIS_URL"].rpartition("/")[0] + f"/{number}"
        _empty_redis()


def _take_slot(var: Path, config: pytest.Config) -> int:
    for number in range(SLOTS):
        lock = FileLock(var / f"slot-{number}.lock")
        if lock.try_exclusive():
            config.add_cleanup(lock.close)
            return number
        lock.close()
    raise pytest.UsageError(f"{SLOTS} test runs are using the servers of {var} already: wait for one to end.")


def _empty_redis() -> None:
    import redis

    client = redis.Redis.from_url(os.environ["REDIS_URL"])
    client.flushdb()
    client.close()
