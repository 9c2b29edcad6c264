"""The researchers' pages on a big study, and the figures that a worker makes for them."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.machine import cpu_seconds, django_process, load, postmaster
from bench.release import TIME_LIMIT, vote
from bench.world import World, copy_world, fill_up

DATABASE = "bench_pages"
VOTES_EACH = 500
"""Votes of one person at most, as the usual cap has it; so many people there are."""


@dataclass(frozen=True, slots=True)
class Pages:
    """One run over all votes, and every page 30 times with nothing else going on."""

    stories: int
    votes: int
    seconds: float
    worker_cpu: float
    """Seconds of user and system time of the worker; with those of PostgreSQL, what the figures cost."""
    postgres_cpu: float
    """Of the figures and the pages together."""
    peak_mib: int
    """Resident memory of the worker at its highest, before it asked for any page."""
    load_before: float
    pages: dict[str, dict[str, Any]]
    """Per page ``p50_ms``, ``p95_ms`` and ``queries``."""


def pages(world: World, *, stories: int, say: Callable[[str], None]) -> Pages:
    """Fill a copy of the world up to so many stories with all their votes, and look at its pages."""
    url = copy_world(world, DATABASE)
    say(f"filling the study up to {stories:,} stories with three votes each")
    fill_up(url, stories=stories)
    vote(url, world)
    before = load()
    server = postmaster(Path(os.environ["TOMANNOT_VAR"]))
    postgres = cpu_seconds([server])
    say("the figures, then the pages")
    done = subprocess.run(
        django_process("bench.figurer"),
        env={**os.environ, "DATABASE_URL": url},
        stdout=subprocess.PIPE,
        timeout=TIME_LIMIT,
        check=True,
    )
    found = json.loads(done.stdout)
    return Pages(stories=stories, postgres_cpu=cpu_seconds([server]) - postgres, load_before=before, **found)
