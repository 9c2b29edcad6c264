"""Loaded by pytest before Django reads its settings: gives the tests a PostgreSQL and a Redis.

Without DATABASE_URL and REDIS_URL the embedded servers of ``var/test`` are used (fsync off). Several
test runs may use them at the same time: each takes a free slot (a lock file), and with it a test
database and a Redis database of its own, and so does each worker of a run on several cores.
"""

from __future__ import annotations

import gc
import os
import sys
import tempfile
from pathlib import Path

import pytest

from tomannot import embedded
from tomannot.embedded.locks import FileLock

SLOTS = 16  # a Redis has that many databases
TESTS_PER_SEARCH = 150
OWN_DATABASE, OWN_REDIS = "TOMANNOT_TEST_DATABASES", "TOMANNOT_TEST_REDIS"
"""In the environment: where the embedded server is that this run provides (or the one it is a worker of)."""
_tests_since_search = 0


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    gc.disable()  # see pytest_runtest_logfinish
    # Tests start a hundred processes; compiling would be a fifth of each one's start.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False  # else each run compiles all tests anew
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
        _provide_servers()
    _take_what_is_ours(early_config)


def pytest_collection_finish() -> None:
    """Nothing that is imported and collected goes away before the end: no search for garbage looks there.

    It is a million objects, which each full search would go through, and most while they are being made.
    """
    gc.freeze()


@pytest.hookimpl(trylast=True)
def pytest_runtest_logfinish() -> None:
    """Search for garbage now and then, between tests: Python's own searches are a twelfth of a run."""
    global _tests_since_search
    _tests_since_search += 1
    if _tests_since_search == TESTS_PER_SEARCH:
        _tests_since_search = 0
        gc.collect()


def _say(line: str) -> None:
    sys.stderr.write(f"tests: {line}\n")


def state_directory() -> Path:
    """Where the tests' embedded servers live, and what one run leaves for the next (``tests.kept``)."""
    return embedded.state_directory() / "test"


def _provide_servers() -> None:
    var = str(state_directory())
    for server, own in (("DATABASE_URL", OWN_DATABASE), ("REDIS_URL", OWN_REDIS)):
        if not os.environ.get(server):
            os.environ[own] = var
    try:
        embedded.provide(Path(var), fsync=False, progress=_say)
    except embedded.EmbeddedServerError as error:
        raise pytest.UsageError(str(error)) from error


def _take_what_is_ours(config: pytest.Config) -> None:
    """A database and a Redis database that no other process has, on the servers that are embedded."""
    var = os.environ.get(OWN_DATABASE) or os.environ.get(OWN_REDIS)
    if not var:
        return
    number = _take_slot(Path(var), config)
    if OWN_DATABASE in os.environ:
        os.environ["TEST_DATABASE_NAME"] = f"test_tomannot_{number}"
    if OWN_REDIS in os.environ:
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
