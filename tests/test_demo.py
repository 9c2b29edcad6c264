"""``make demo``'s command as a person runs it: real processes, real signals, nothing left behind."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

import psutil
import pytest
import urllib3
from django.core.management import call_command
from django.core.management.base import CommandError, OutputWrapper

from dashboard.management.commands import demo as demo_command
from dashboard.management.commands.demo import Stop, static_fingerprint, stop_signals
from tests.integration.cluster import put_cluster
from tomannot import embedded
from tomannot.embedded.locks import wait_until

if TYPE_CHECKING:
    from pytest_django import DjangoDbBlocker

pytestmark = pytest.mark.timeout(300)

SECONDS = 60.0


@pytest.fixture(scope="module")
def var(static_root: Path, django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Path]:
    """A state directory for all demos of this module, so that the second start finds the first one's data.

    It has static files and a migrated cluster, as after an earlier start: both are much work.
    """
    directory = Path(tempfile.mkdtemp(prefix="tomannot-")).resolve()
    put_cluster(directory, django_db_blocker)
    shutil.copytree(static_root, directory / "static")
    (directory / "static" / ".fingerprint").write_text(static_fingerprint())
    yield directory
    for process in processes_of(directory):
        process.kill()
    shutil.rmtree(directory)


@pytest.fixture
def demo(var: Path) -> Iterator[subprocess.Popen[str]]:
    """A demo with servers of its own, whatever the tests' environment says."""
    given = (
        "DATABASE_URL",
        "REDIS_URL",
        "PUBLIC_URL",
        "RELEASES_ROOT",
        "MEDIA_ROOT",
        "STATIC_ROOT",
        "SECRET_KEY",
    )
    environment = {name: value for name, value in os.environ.items() if name not in given}
    process = subprocess.Popen(
        [sys.executable, "manage.py", "demo"],
        cwd=embedded.PROJECT,
        env={**environment, "TOMANNOT_VAR": str(var)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    yield process
    process.kill()
    process.communicate()


def processes_of(var: Path) -> list[psutil.Process]:
    """Every process of a demo with this state directory: the environment tells, or a word of its command."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get("TOMANNOT_VAR") == str(var) or str(var) in " ".join(process.cmdline()):
                found.append(process)
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    return found


def wait_until_nothing_runs(var: Path) -> None:
    assert wait_until(lambda: not processes_of(var), SECONDS), [p.cmdline() for p in processes_of(var)]


def what_it_says(demo: subprocess.Popen[str]) -> str:
    """Everything up to the last line it prints when it serves."""
    assert demo.stdout is not None
    said = []
    for line in demo.stdout:
        said.append(line)
        if "Ctrl-C" in line:
            return "".join(said)
    pytest.fail(f"the demo ended with {demo.wait()}:\n{''.join(said)}")


def get(url: str) -> int:
    return urllib3.PoolManager(retries=False, timeout=10).request("GET", url).status


def test_it_serves_what_it_announces_signs_in_is_alone_on_its_data_and_stops_on_ctrl_c(
    demo: subprocess.Popen[str], var: Path, settings: Any
) -> None:
    said = what_it_says(demo)
    front_page = re.search(r"Front page: +(\S+)", said)
    links = re.findall(r"^ +(http\S+/join/\S+)$", said, re.MULTILINE)
    assert front_page is not None
    answers = re.search(r"Test's answers: +(\S+)", said)
    assert answers is not None
    assert len(links) == 3
    assert [get(url) for url in (front_page[1], *links)] == [200] * 4
    assert get(answers[1]) == 302, "to the sign-in"
    assert re.search(r"serving after [0-9.]+ seconds", said)
    user, password = re.findall(r"(?:sign in as|password) +(\S+)", said)
    back_office = re.search(r"Back office: +(\S+)", said)
    assert back_office is not None
    assert signs_in(back_office[1], user, password)
    assert not signs_in(back_office[1], user, password + "x")
    settings.VAR_DIR = var
    with pytest.raises(CommandError, match="runs already"):
        call_command("demo")
    demo.send_signal(signal.SIGINT)
    rest, _ = demo.communicate(timeout=SECONDS)
    assert demo.returncode == 0, rest
    wait_until_nothing_runs(var)


def test_static_files_are_collected_at_first_and_when_they_have_changed(
    tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, settings.STATIC_ROOT = tmp_path / "source", tmp_path / "collected"
    source.mkdir()
    settings.STATICFILES_DIRS = [source]
    settings.STATICFILES_FINDERS = ["django.contrib.staticfiles.finders.FileSystemFinder"]
    monkeypatch.setattr(demo_command, "call_command", collect_only)
    command = demo_command.Command()
    command.stdout = OutputWrapper(StringIO())
    page = source / "page.css"
    page.write_text("p { color: red }")
    command._prepare_site()
    (first,) = settings.STATIC_ROOT.glob("page.*.css")
    first.unlink()
    command._prepare_site()
    assert not first.exists(), "nothing has changed: it was not collected again"
    page.write_text("p { color: green }")
    command._prepare_site()
    assert "green" in next(settings.STATIC_ROOT.glob("page.*.css")).read_text()


def collect_only(name: str, **options: Any) -> None:
    """In place of ``call_command``: the database is migrated already."""
    if name != "migrate":
        call_command(name, **options)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_stops_it_once(number: signal.Signals) -> None:
    kept = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        with pytest.raises(Stop, match=number.name), stop_signals():
            signal.raise_signal(number)
        assert {signal.getsignal(each) for each in kept} == {signal.SIG_IGN}
    finally:
        for each, handler in kept.items():
            signal.signal(each, handler)


@pytest.mark.torture  # test_supervisor ends two small programs so, with every run
def test_it_starts_again_and_all_processes_end_when_one_of_them_ends(
    demo: subprocess.Popen[str], var: Path
) -> None:
    what_it_says(demo)
    worker = next(process for process in processes_of(var) if {"celery", "worker"} <= set(process.cmdline()))
    os.killpg(os.getpgid(worker.pid), signal.SIGKILL)
    rest, _ = demo.communicate(timeout=SECONDS)
    assert demo.returncode == 1
    assert "The worker process was ended by SIGKILL" in rest
    wait_until_nothing_runs(var)


def signs_in(back_office: str, user: str, password: str) -> bool:
    client = urllib3.PoolManager(retries=False, timeout=10)
    login = urljoin(back_office, "/sign-in/?next=/admin/")
    page = client.request("GET", login)
    cookie = page.headers["Set-Cookie"].split(";")[0]
    token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page.data.decode())
    assert token is not None
    answer = client.request(
        "POST",
        login,
        fields={"csrfmiddlewaretoken": token[1], "username": user, "password": password},
        encode_multipart=False,
        headers={"Cookie": cookie, "Referer": login},
        redirect=False,
    )
    return answer.status == 302
