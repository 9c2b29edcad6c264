"""The benchmark runs, and what it reports is true of the database. Times are never asserted."""

from __future__ import annotations

import gzip
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from django.urls import get_resolver

from bench import measure, run, visited
from bench.http import BadAnswer, whole_answer
from bench.world import World, copy_world, drop_database
from tomannot import web_server
from tomannot.embedded import PROJECT


def two_free_ports() -> int:
    """The first of two neighbouring ports that are free."""
    for port in range(18_900, 19_900, 2):
        with socket.socket() as first, socket.socket() as second:
            try:
                first.bind(("127.0.0.1", port))
                second.bind(("127.0.0.1", port + 1))
            except OSError:
                continue
            return port
    pytest.fail("no two neighbouring ports are free")


@pytest.fixture
def var() -> Iterator[Path]:
    """A state directory outside pytest's own, which other runs of pytest close to the server's account."""
    with tempfile.TemporaryDirectory(prefix="tomannot-bench-") as directory:
        yield Path(directory).resolve()


@pytest.mark.torture
@pytest.mark.django_db(transaction=True)
def test_a_small_run_measures_everything_and_breaks_nothing(
    static_root: Path, settings: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """On the PostgreSQL of the tests and with one process of the web server, which start faster."""
    copies: list[str] = []

    def copy_of(world: World, name: str) -> str:
        copies.append(f"{world.database}_{name}")
        return copy_world(world, copies[-1])

    settings.VAR_DIR = tmp_path
    monkeypatch.setattr(run, "empty_database", lambda _name: None)
    monkeypatch.setattr(run, "copy_world", copy_of)
    monkeypatch.setattr(measure, "postmaster", lambda _var: psutil.Process())
    chosen = Namespace(
        stories=12, annotators=3, seconds=60.0, port=two_free_ports(), quick=True, server="--workers 1"
    )
    try:
        table, is_fine = run.run(chosen, results=tmp_path, say=lambda _line: None)
    finally:
        for copy in copies:
            drop_database(copy)
    assert is_fine
    facts = facts_of(table)
    check_counts(facts, stories=12)
    assert facts["latencies"] == []


@pytest.mark.torture
@pytest.mark.timeout(720)
def test_the_command_measures_large_studies_too_on_servers_of_its_own(var: Path, static_root: Path) -> None:
    options: dict[str, int] = {
        "--stories": 30,
        "--annotators": 3,
        "--seconds": 60,
        "--port": two_free_ports(),
    }
    options |= {"--big": 90, "--requests": 3}
    arguments = [str(part) for option in options.items() for part in option]
    done = subprocess.run(
        [sys.executable, "-m", "bench", *arguments, "--static", str(static_root)],
        cwd=PROJECT,
        env={**os.environ, "TOMANNOT_VAR": str(var)},
        capture_output=True,
        text=True,
        timeout=700,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert Path(done.stdout.splitlines()[-1]).parent == var / "bench"
    facts = facts_of(done.stdout)
    assert facts["postgres"]["fsync"] == facts["postgres"]["synchronous_commit"] == "on"
    check_counts(facts, stories=30)
    assert [one["stories"] for one in facts["latencies"]] == [30, 90]
    assert all(one["submit"]["requests"] == 3 for one in facts["latencies"])
    assert not (var / "bench" / "state").exists()


def facts_of(said: str) -> dict[str, Any]:
    """Return what the file says whose name ends the output."""
    facts: dict[str, Any] = json.loads(Path(said.splitlines()[-1]).read_text(encoding="utf-8"))
    return facts


def check_counts(facts: dict[str, Any], *, stories: int) -> None:
    loop, bare = facts["loop"], facts["bare_sql"]
    assert loop["errors"] == loop["integrity_broken"] == bare["integrity_broken"] == []
    assert loop["stories_over_limit"] == loop["receipts_without_vote"] == 0
    assert loop["votes"] == loop["submit"]["requests"] > 0
    # each of two others may hold the last one that is left
    assert 3 * (stories - 2) <= bare["votes"] <= 3 * stories


def test_a_response_is_whole_when_its_body_is() -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"
    assert whole_answer(head[:-1]) is None
    assert whole_answer(head + b"four") is None
    answer = whole_answer(head + b"fives")
    assert answer is not None
    assert (answer.status, answer.body) == (200, b"fives")
    with pytest.raises(BadAnswer, match="Content-Length"):
        whole_answer(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")


def test_a_compressed_response_is_read_as_a_browser_reads_it() -> None:
    page = gzip.compress(b"five")
    head = f"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {len(page)}\r\n\r\n".encode()
    answer = whole_answer(head + page)
    assert answer is not None
    assert answer.body == b"five"


@pytest.mark.parametrize("file", ["Dockerfile", "docs/operators.md"])
def test_the_image_and_the_guide_start_the_web_server_as_measured(file: str) -> None:
    text = (PROJECT / file).read_text(encoding="utf-8")
    found = re.search(r"granian\b.*?tomannot\.wsgi:application", text)
    assert found, f"{file} starts no web server"
    words = re.sub(r"[\",]+", " ", found[0]).split()
    for option in ("--host", "--port"):
        place = words.index(option)
        del words[place : place + 2]
    assert words == ["granian", *web_server.OPTIONS, web_server.APPLICATION]


def test_pages_that_are_left_out_exist() -> None:
    names = {name for name in get_resolver("dashboard.urls").reverse_dict if isinstance(name, str)}
    assert {*visited.ONLY_SENT, *visited.STREAMS, *visited.OTHER_STUDIES} - names == set()
