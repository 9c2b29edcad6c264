"""The researchers' pages of a full study at two sizes, and the figures that a worker makes for them."""

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
"""Stories of the study with which the number of queries is compared: the size of the published one."""
STAND_IN = "story_is_as_imported"
"""The check that stories fill_up has made do not pass: they repeat others under new ids."""
MOST_MS = 500
"""The budget of a page at p95."""
TIME_LIMIT = 3600.0
"""Seconds after which a process that asks for pages is given up."""


@dataclass(frozen=True, slots=True)
class Pages:
    """One run over all votes, and every page with nothing else going on."""

    stories: int
    votes: int
    """That count."""
    people: int
    rows: dict[str, int]
    """Of the tables with most of them."""
    seconds: float
    worker_cpu: float
    """Seconds of user and system time of the worker; with those of PostgreSQL, what the figures cost."""
    postgres_cpu: float
    """Of the figures and the pages together."""
    peak_mib: int
    """Resident memory of the worker at its highest, before it asked for any page."""
    load_before: float
    not_measured: list[str]
    """Addresses of the dashboard that are pages and were not asked for."""
    integrity_broken: list[str]
    """Names of the checks of ``check_integrity`` that found something; looked at in the small study alone."""
    pages: dict[str, dict[str, Any]]
    """Per page ``route``, ``queries``, and of one request ``first_ms``, ``p50_ms``, ``p95_ms``, ``cpu_ms``.

    The last is the mean CPU time of this process and PostgreSQL together.
    """


def pages(world: World, *, stories: int, requests: int, say: Callable[[str], None]) -> Pages:
    """Fill a copy of the beginning up to a full study of so many stories, and look at its pages."""
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
    """What is wrong with pages, by their names: over the budget, or more queries than of the small study."""
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
