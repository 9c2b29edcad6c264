"""``manage.py deposit_release`` is killed: none or all is there, and running it again completes it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import huggingface_hub.constants
import pytest
from django.conf import settings as django_settings

from publishing.models import Deposit, Release
from tests.publishing.destinations.depositing import md5s, objects, on_disk, run
from tests.publishing.destinations.faults import Matches, drop, method_is
from tests.publishing.destinations.hub import Hub
from tests.publishing.destinations.store import Store

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning"),
]

CHILD = """
import json, os, sys
import django
django.setup()
from django.core.management import call_command
from publishing.management.commands import deposit_release
for line in sys.stdin:
    child = os.fork()
    if child == 0:
        call_command("deposit_release", *json.loads(line), stdout=sys.stderr, stderr=sys.stderr)
        os._exit(0)
    print(child, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
"""Starts the command in a process of its own, again and again, without loading everything again."""


class Children:
    """Runs the command in processes that can be killed."""

    def __init__(self, environment: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-W", "ignore::DeprecationWarning", "-c", CHILD],
            env=environment | {"DJANGO_SETTINGS_MODULE": "tomannot.settings"},
            cwd=django_settings.BASE_DIR,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        self._child = 0
        self._known = threading.Event()

    def run(self, *arguments: str) -> int:
        """The exit code; of a killed process, minus the signal."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._known.clear()
        print(json.dumps(arguments), file=self._process.stdin, flush=True)
        self._child = int(self._process.stdout.readline())
        self._known.set()
        return int(self._process.stdout.readline())

    def kill(self) -> None:
        """SIGKILL the command that is running: nothing in it is tidied up."""
        assert self._known.wait(30)
        os.kill(self._child, signal.SIGKILL)
        drop()

    def close(self) -> None:
        self._process.communicate(timeout=30)


@pytest.fixture
def children(
    child_environment: dict[str, str], releases_root: Path, request: pytest.FixtureRequest
) -> Iterator[Callable[..., Children]]:
    started: list[Children] = []

    def start(**more: str) -> Children:
        environment = {**child_environment, **os.environ, "RELEASES_ROOT": str(releases_root), **more}
        started.append(Children(environment | {"DATABASE_URL": child_environment["DATABASE_URL"]}))
        return started[-1]

    yield start
    for each in started:
        each.close()


S3_KILLS: dict[str, tuple[Matches, int, bool]] = {
    "in the middle": (method_is("PUT"), 9, True),
    "all is there but MANIFEST": (method_is("PUT", "/MANIFEST"), 1, False),
    "MANIFEST has come, nobody knows": (method_is("PUT", "/MANIFEST"), 1, True),
    "it is being compared": (method_is("HEAD", "/README.md"), 1, False),
}
HUB_KILLS: dict[str, tuple[Matches, int, bool]] = {
    "the repository is made": (method_is("POST", "/create"), 1, True),
    "big files are arriving": (method_is("POST", "/batch"), 1, True),
    "before the commit": (method_is("POST", "/commit/main"), 1, False),
    "the commit is there, nobody knows": (method_is("POST", "/commit/main"), 1, True),
    "before the tag": (lambda method, path: method == "POST" and "/tag/" in path, 1, False),
    "the tag is there, nobody knows": (lambda method, path: method == "POST" and "/tag/" in path, 1, True),
}

FEW = ("all is there but MANIFEST", "MANIFEST has come, nobody knows", "the commit is there, nobody knows")


@pytest.mark.parametrize(
    "points",
    [pytest.param(FEW, id="few"), pytest.param((*S3_KILLS, *HUB_KILLS), id="all", marks=pytest.mark.torture)],
)
def test_a_kill_at_any_instant_leaves_none_or_all_and_running_again_completes_it(
    release: Release,
    at_store: Store,
    at_hub: Hub,
    bucket: str,
    children: Callable[..., Children],
    points: tuple[str, ...],
) -> None:
    child = children(S3_ENDPOINT_URL=at_store.url, HF_ENDPOINT=at_hub.url, HF_HUB_DISABLE_XET="1")
    assert huggingface_hub.constants.HF_HUB_DISABLE_XET
    for number, point in enumerate(points):
        if point in S3_KILLS:
            killed_on_the_way_to_a_bucket(child, release, at_store, f"s3://{bucket}/kill/{number}", point)
        else:
            killed_on_the_way_to_the_hub(child, release, at_hub, f"lab/kill-{number}", point)


def killed_on_the_way_to_a_bucket(
    child: Children, release: Release, store: Store, place: str, point: str
) -> None:
    matches, nth, late = S3_KILLS[point]
    whole = md5s(on_disk(release))
    bucket, _, prefix = place.removeprefix("s3://").partition("/")
    store.faults.clear()
    (store.faults.after if late else store.faults.before)(matches, child.kill, nth=nth)
    assert child.run("small", "1", "--to", place) == -signal.SIGKILL, point
    seen = objects(store, bucket, prefix)
    assert "MANIFEST" not in seen or seen == whole, point
    assert Deposit.objects.get(place=place).state == "uploading", point
    code, _, err = run("small", "1", "--to", place)
    assert code == 0, f"{point}: {err}"
    assert objects(store, bucket, prefix) == whole, point
    assert Deposit.objects.get(place=place).state == "done", point


def killed_on_the_way_to_the_hub(child: Children, release: Release, hub: Hub, name: str, point: str) -> None:
    matches, nth, late = HUB_KILLS[point]
    whole = on_disk(release)
    hub.faults.clear()
    (hub.faults.after if late else hub.faults.before)(matches, child.kill, nth=nth)
    assert child.run("small", "1", "--to", f"huggingface:{name}") == -signal.SIGKILL, point
    seen = hub.repositories[name].files("main").keys() - {".gitattributes"}
    assert not seen or seen == whole.keys(), point
    code, _, err = run("small", "1", "--to", f"huggingface:{name}")
    assert code == 0, f"{point}: {err}"
    repository = hub.repositories[name]
    files = repository.files("v1")
    assert {path: files[path] for path in files if path != ".gitattributes"} == whole, point
    assert len(repository.commits) == 2, point
    assert Deposit.objects.get(place=name).state == "done", point
