"""Fixtures for every test: real servers (see ``tests.plugin``), a browser, the shared example data."""

from __future__ import annotations

import copy
import functools
import os
import re
import shutil
import uuid
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from botocore.loaders import create_loader
from django.conf import settings
from django.core.cache import caches
from django.db import connection, transaction
from django.db.backends.signals import connection_created
from django.dispatch import receiver
from django.test import TransactionTestCase
from django.utils import timezone, translation
from hypothesis import settings as hypothesis_settings
from psycopg._preparing import PrepareManager
from whitenoise import WhiteNoise

from publishing import machine_validation
from publishing.files.rows import Layout, config_path
from publishing.machine_validation.report import Validation
from tests import kept
from tests.plugin import state_directory
from tomannot import clock
from tomannot.celery import app

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page
    from pytest_django import DjangoDbBlocker

pytest_plugins = ["tests.kinds"]
PROJECT = Path(__file__).resolve().parent.parent
BROWSER_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
HEADLESS_SHELL = "chromium-headless-shell"
"""Chromium without windows and without what its settings are for: two thirds of the work."""
PAGE_MILLISECONDS = 30_000
"""Only a failing test waits as long; a slow machine with other work must not fail one."""
SHOWS_PAGES = {"client", "admin_client", "live_server", "child_environment", "static_root"}
"""Fixtures of tests for which ``collectstatic`` must have run."""
USUAL_WORK = 2
WORK = {
    "tests/topology/test_topology.py": 303,
    "tests/browser/test_study_pages.py": 49,
    "tests/test_embedded.py": 29,
    "tests/browser/test_drafts.py": 32,
    "tests/publishing/verification/test_verifying.py": 4,
    "tests/test_demo.py": 88,
    "tests/model/test_slots.py": 6,
    "tests/operations/test_backup.py": 35,
    "tests/operations/test_watching.py": 22,
    "tests/browser/test_submitting.py": 20,
    "tests/crowd/test_live.py": 9,
    "tests/browser/test_links.py": 27,
    "tests/integration/test_outages.py": 62,
    "tests/browser/test_pages.py": 43,
    "tests/browser/test_frame.py": 161,
    "tests/operations/test_running.py": 161,
    "tests/browser/test_keys.py": 18,
    "tests/dashboard/qualification/test_answer_key_pages.py": 15,
    "tests/browser/test_answer_key.py": 144,
    "tests/integration/test_end_to_end.py": 144,
    "tests/browser/test_journey.py": 141,
    "tests/dashboard/test_roles.py": 19,
    "tests/browser/test_open_tables.py": 32,
    "tests/integrity/test_checks.py": 2,
    "tests/browser/test_charts.py": 40,
    "tests/crowd/test_label_tables.py": 40,
    "tests/browser/test_releases.py": 118,
    "tests/publishing/destinations/test_deposit_command.py": 12,
    "tests/browser/test_languages.py": 36,
    "tests/browser/test_label_tables.py": 21,
    "tests/publishing/evaluation/test_evaluating.py": 6,
    "tests/test_languages.py": 3,
    "tests/recruitment/test_visits.py": 6,
    "tests/publishing/test_shared_store.py": 4,
    "tests/dashboard/quality/test_quality_page.py": 8,
    "tests/dashboard/releases/test_human_baseline.py": 6,
    "tests/browser/test_checks.py": 98,
    "tests/annotation/test_adaptive.py": 5,
    "tests/operations/test_doctor.py": 9,
    "tests/browser/": 30,
    "tests/operations/": 15,
    "tests/crowd/": 8,
    "tests/concurrency/": 5,
    "tests/dashboard/": 4,
    "tests/publishing/": 3,
    "tests/recruitment/": 3,
    "tests/qualification/": 3,
    "tests/api/": 4,
}
"""The time of one test where it is not the usual, in tenths of a second; the first that fits."""
MAY_BE_MISSING = {
    "browser": "Install Chromium (Debian: apt-get install chromium) or set CHROMIUM to its path.",
    "encoder": "Install PyTorch and transformers (pip install torch transformers).",
    "kubernetes": "Install kubectl, which builds the manifests.",
    "latex": "Install pdflatex with booktabs (Debian: apt-get install texlive-latex-recommended).",
    "model": "Install SPIN and a C compiler (Debian: apt-get install spin gcc libc6-dev).",
    "systemd": "Install systemd, whose systemd-analyze reads the units.",
    "topology": "Install nginx, PgBouncer, Caddy and gcc "
    "(Debian: apt-get install nginx-light pgbouncer caddy gcc libc6-dev).",
}
"""Markers of tests that don't run without a program, with the remedy. With CI=true those of
programs that ``make test`` installs (not systemd, kubectl, pdflatex and PyTorch) fail instead."""
STATEMENTS = 5000
FORGETS = re.compile(rb"^(?:DISCARD ALL|DEALLOCATE ALL)\b")
_did_not_run = Counter[str]()
app.autodiscover_tasks(force=True)  # as workers do: tests run tasks at once, whichever modules they import
hypothesis_settings.register_profile("tomannot", deadline=None)  # a slow machine must not fail a test
hypothesis_settings.load_profile("tomannot")


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_blocker: DjangoDbBlocker) -> None:
    """Give this test run a database of its own (see ``tests.plugin``), a copy of a migrated one."""
    name = os.environ.get("TEST_DATABASE_NAME")
    if name:
        with django_db_blocker.unblock():
            template = kept.template_database(state_directory())
        settings.DATABASES["default"]["TEST"] |= {"NAME": name, "TEMPLATE": template}
        TransactionTestCase._fixture_teardown = kept.empty_tables  # type: ignore[attr-defined]
        connection.creation._destroy_test_db = kept.drop_database  # type: ignore[attr-defined]


@pytest.fixture(scope="session", autouse=True)
def collected_static(request: pytest.FixtureRequest) -> None:
    """The static files under their final names, as pages link to them, when a test shows pages.

    The second of two workers sees to the database first, so that both have something to make.
    """
    if any(not SHOWS_PAGES.isdisjoint(getattr(item, "fixturenames", ())) for item in request.session.items):
        if os.environ.get("PYTEST_XDIST_WORKER") == "gw1":
            request.getfixturevalue("django_db_setup")
        kept.put_static_files(state_directory())


@pytest.fixture(scope="session")
def static_root(collected_static: None) -> Path:
    """Where the collected static files are, for a process that would collect them itself."""
    return Path(settings.STATIC_ROOT)


@pytest.fixture(scope="session", autouse=True)
def static_files_read_once(collected_static: None) -> Iterator[None]:
    """Every test client has a WhiteNoise of its own, which would read the same hundreds of files again."""
    read = WhiteNoise.update_files_dictionary
    known: dict[tuple[str, str], dict[str, Any]] = {}

    def read_once(self: WhiteNoise, root: str, prefix: str) -> None:
        if (root, prefix) not in known:
            before, self.files = self.files, {}
            read(self, root, prefix)
            known[root, prefix], self.files = self.files, before
        self.files.update(known[root, prefix])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(WhiteNoise, "update_files_dictionary", read_once)
        yield


@pytest.fixture(scope="session", autouse=True)
def aws_models_read_once() -> Iterator[None]:
    """Every client of boto3 has a loader of its own, which would read the same descriptions of AWS again."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("botocore.session.create_loader", functools.cache(create_loader))
        yield


@pytest.fixture(scope="session", autouse=True)
def shortcuts_looked_for_once() -> Iterator[None]:
    """Machine validation is a quarter of publishing a small release, and many tests publish the same stories.

    What it says follows from the files that it reads, as its own tests show, which call it directly.
    """
    validate = machine_validation.validate
    known: dict[tuple[bytes, ...], Validation] = {}

    def validate_once(directory: Path, layout: Layout) -> Validation:
        files = [directory / config_path(config) for config in layout.configs]
        if not all(file.is_file() for file in files):
            return validate(directory, layout)
        key = (repr(layout.configs).encode(), *(file.read_bytes() for file in files))
        if key not in known:
            known[key] = validate(directory, layout)
        return copy.deepcopy(known[key])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(machine_validation, "validate", validate_once)
        yield


@pytest.fixture(scope="module")
def module_transaction(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """For fixtures that build a world once for a module without transactional tests.

    What each test does to it is rolled back, to the savepoint where the test began, and the world itself
    at the end of the module.
    """
    with django_db_blocker.unblock(), transaction.atomic():
        yield
        transaction.set_rollback(True)


@receiver(connection_created)
def keep_more_statements(connection: Any, **_: Any) -> None:
    """psycopg keeps a hundred statements prepared, which are soon those of another test."""
    connection.connection.prepared_max = STATEMENTS


@pytest.fixture(scope="session", autouse=True)
def statements_outlive_rollbacks() -> Iterator[None]:
    """Every test ends with a rollback, after which psycopg would have the server plan everything anew.

    PostgreSQL itself plans anew where a table changed, as it does here when one is changed back.
    """
    discard = PrepareManager._should_discard

    def unless_rolled_back(self: PrepareManager, prep: Any, results: Any) -> bool:
        return discard(self, prep, results, FORGETS.match)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PrepareManager, "_should_discard", unless_rolled_back)
        yield


@pytest.fixture(scope="session", autouse=True)
def no_waiting_for_the_disk() -> Iterator[None]:
    """Nothing that a test writes has to survive a power cut; killed processes are others, which do wait."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _file: None)
        yield


@pytest.fixture(scope="session", autouse=True)
def cheap_passwords() -> None:
    """What makes guessing dear costs a third of a second for each password that a test sets or tries."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture(autouse=True)
def own_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """What one test tries too often is not held against the next one."""
    namespace = f"test-{uuid.uuid4().hex}"
    monkeypatch.setattr("accounts.rate_limits.NAMESPACE", namespace)
    monkeypatch.setattr(caches["default"], "key_prefix", namespace)  # where libraries count


@pytest.fixture(autouse=True)
def own_language() -> Iterator[None]:
    """A request leaves its language active in this thread; the next test begins with the default."""
    yield
    translation.deactivate()


@pytest.fixture(autouse=True)
def one_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests take moments from this process's clock; the database's, asked now and then, is some ms off."""
    monkeypatch.setattr(clock, "now", timezone.now)


@pytest.fixture
def one_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time stands still, so that no window of a limit ends in the middle of a test."""
    now = timezone.now()
    monkeypatch.setattr(clock, "now", lambda: now)


@pytest.fixture(scope="session")
def shared_data() -> Path | None:
    """The directory with the public example files, or None: tests must pass without them.

    TOMANNOT_SHARED_DATA names the ``data`` directory; else it is looked for beside the repository.
    """
    given = os.environ.get("TOMANNOT_SHARED_DATA")
    data = Path(given) if given else PROJECT.parent / "shared" / "data"
    simpletom = data / "simpletom"
    if given and not simpletom.is_dir():
        pytest.fail(f"TOMANNOT_SHARED_DATA={given}, but there is no {simpletom}.")
    return simpletom if simpletom.is_dir() else None


@pytest.fixture
def child_environment(transactional_db: None) -> dict[str, str]:
    """Environment for a real process (a Celery worker, a command) that must see the test database."""
    return {**os.environ, "DATABASE_URL": database_url()}


def database_url() -> str:
    """The address of the test database, which exists."""
    address, question_mark, options = os.environ["DATABASE_URL"].partition("?")
    server = address.rpartition("/")[0]
    return f"{server}/{connection.settings_dict['NAME']}{question_mark}{options}"


def chromium() -> str | None:
    """The Chromium for browser tests: CHROMIUM, or one on the PATH."""
    given = os.environ.get("CHROMIUM")
    return given or next((found for name in BROWSER_NAMES if (found := shutil.which(name))), None)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One Chromium for the whole run, without network chatter of its own.

    Playwright switches Chromium's sandbox off, without which it would not run as root or in most
    containers; the only pages it opens are our own.
    """
    executable = chromium()
    if executable and not os.environ.get("CHROMIUM"):
        executable = shutil.which(HEADLESS_SHELL) or executable
    if executable is None:
        if os.environ.get("CI") == "true":
            pytest.fail(
                "Browser tests must run with CI=true, but there is no Chromium: install it or set CHROMIUM."
            )
        pytest.skip("no Chromium on the PATH, and CHROMIUM is not set")
    from playwright.sync_api import expect, sync_playwright

    arguments = [
        "--disable-gpu",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--renderer-process-limit=1",  # starting another is half the work of opening a page
    ]
    # Playwright's sync interface keeps an event loop on this thread; Django would take our own
    # synchronous database calls for calls from async code and refuse them.
    before = os.environ.get("DJANGO_ALLOW_ASYNC_UNSAFE")
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    expect.set_options(timeout=PAGE_MILLISECONDS)
    with sync_playwright() as playwright:
        chrome = playwright.chromium.launch(executable_path=executable, args=arguments)
        yield chrome
        chrome.close()
    if before is None:
        del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]
    else:
        os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = before


@pytest.fixture
def browser_context(browser: Browser) -> Iterator[BrowserContext]:
    """A fresh browser profile."""
    context = browser.new_context()
    context.set_default_timeout(PAGE_MILLISECONDS)
    yield context
    context.close()


@pytest.fixture
def page(browser_context: BrowserContext) -> Page:
    """A fresh page in a fresh profile."""
    return browser_context.new_page()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the long forms unless ``-m`` names them, and put the files into a good order.

    Files with browser tests come last: Playwright keeps an event loop on the thread of their process, in
    which the simulated crowd could not start its own. Of each kind the files that take longest come first,
    so that of several workers none has much left to do alone at the end.
    """
    if "torture" not in config.option.markexpr:
        long = [item for item in items if item.get_closest_marker("torture")]
        items[:] = [item for item in items if item not in long]
        config.hook.pytest_deselected(items=long)
    browser = {item.path for item in items if item.get_closest_marker("browser")}
    work = Counter[Path]()
    if hasattr(config, "workerinput"):
        for item in items:  # loadfile hands out whole files, so that a long one must not come last
            known = (tenths for at, tenths in WORK.items() if item.nodeid.startswith(at))
            work[item.path] += next(known, USUAL_WORK)
    items.sort(key=lambda item: (item.path in browser, -work[item.path], item.path if work else ""))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.skipped:
        _did_not_run.update(MAY_BE_MISSING.keys() & report.keywords)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for marker, number in sorted(_did_not_run.items()):
        terminalreporter.write_sep("!", f"{number} {marker.upper()} TESTS DID NOT RUN", red=True, bold=True)
        terminalreporter.write_line(MAY_BE_MISSING[marker])
