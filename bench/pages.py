"""Measure the researchers' pages of a full study at two sizes, and the worker's figures for them."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.utils import timezone

from bench.filled.filling import fill
from bench.machine import cpu_seconds, django_process, load, postmaster
from bench.measure import integrity_broken
from bench.world import World, copy_world, drop_database

SMALL = 3_600
"""Stories of the small study with which query counts are compared: the size of the published one."""
STAND_IN = "story_is_as_imported"
"""The check that stories made by fill_up fail: they repeat others under new ids."""
MOST_MS = 500
"""The budget of a page at p95."""
TIME_LIMIT = 3600.0
"""Time limit in seconds of the process that requests pages."""


@dataclass(frozen=True, slots=True)
class Pages:
    """One computation over all votes, and every page on an idle server."""

    stories: int
    votes: int
    """Counted votes."""
    people: int
    rows: dict[str, int]
    """Row counts of the largest tables."""
    seconds: float
    worker_cpu: float
    """The worker's CPU seconds; with PostgreSQL's, the cost of the figures."""
    postgres_cpu: float
    """For the figures and the pages together."""
    peak_mib: int
    """The worker's peak resident memory, before it requested any page."""
    load_before: float
    not_measured: list[str]
    """The dashboard's pages that were not requested."""
    integrity_broken: list[str]
    """Names of failed checks of ``check_integrity``, for the small study only."""
    pages: dict[str, dict[str, Any]]
    """Per page ``route``, ``queries``, and of one request ``first_ms``, ``p50_ms``, ``p95_ms``, ``cpu_ms``.

    The last is the mean CPU time of this process and PostgreSQL together.
    """


def pages(world: World, *, stories: int, requests: int, say: Callable[[str], None]) -> Pages:
    """Fill a copy of the beginning up to a full study of this many stories, and measure its pages."""
    name = f"bench_pages_{stories}"
    url = copy_world(world, name)
    say(f"filling a study up to {stories:,} stories with all that came of them")
    rows = fill(url, stories=stories, now=timezone.now())
    broken = [name for name in integrity_broken(url) if name != STAND_IN] if stories <= SMALL else []
    before = load()
    server = postmaster(Path(os.environ["TOMANNOT_VAR"]))
    postgres = cpu_seconds([server])
    say("the figures, then the pages")
    done = subprocess.run(
        django_process("bench.figurer", str(requests)),
        env={**os.environ, "DATABASE_URL": url},
        stdout=subprocess.PIPE,
        timeout=TIME_LIMIT,
        check=True,
    )
    spent = cpu_seconds([server]) - postgres
    drop_database(name)
    found = json.loads(done.stdout)
    return Pages(rows=rows, postgres_cpu=spent, load_before=before, integrity_broken=broken, **found)


def faults(small: Pages, big: Pages) -> dict[str, list[str]]:
    """Return problems by page: over the budget, or more queries than in the small study."""
    found = {}
    for name, page in big.pages.items():
        wrong = []
        if page["p95_ms"] > MOST_MS:
            wrong.append(f"over {MOST_MS} ms")
        if page["queries"] > small.pages[name]["queries"]:
            wrong.append("more queries")
        if wrong:
            found[name] = wrong
    return found
