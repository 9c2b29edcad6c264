"""Run the benchmark: create the study, measure, print the table, write the file."""

from __future__ import annotations

import argparse
import dataclasses
import json
import shlex
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psycopg
from django.utils import timezone

from bench import measure
from bench.filled.beginning import make_beginning
from bench.http import WARM_UP_REQUESTS
from bench.machine import describe
from bench.pages import SMALL, faults, pages
from bench.release import publishing
from bench.screen import WARM_UP, screen
from bench.table import pages_table, release_table, screen_table, table
from bench.world import copy_world, empty_database, fill_up, make_world, server_url
from publishing.provenance import code_version
from tomannot import web_server

BARE_SECONDS = 10.0
RELEASE_SAMPLE = 60
"""Stories created through actions before COPY repeats them."""
RELEASE_PEOPLE = 30
SHOWN = ("server_version", "fsync", "synchronous_commit", "full_page_writes", "shared_buffers")
PACKAGES = ("django", "granian", "psycopg")


def run(chosen: argparse.Namespace, *, results: Path, say: Callable[[str], None]) -> tuple[str, bool]:
    """Measure, write a JSON file, and return the table and whether nothing went wrong."""
    more = shlex.split(chosen.server)
    newcomers = 0 if chosen.quick else chosen.requests + WARM_UP_REQUESTS + 1
    say(f"making a study with {chosen.stories:,} stories")
    empty_database("tomannot")
    world = make_world(stories=chosen.stories, people=max(chosen.annotators, newcomers))

    say(f"{chosen.annotators} annotators for {chosen.seconds:.0f} seconds")
    url = copy_world(world, "bench_loop")
    loop = measure.loop(
        url,
        world,
        people=chosen.annotators,
        seconds=chosen.seconds,
        votes=3 * chosen.stories,
        port=chosen.port,
        more=more,
    )
    say("the same as bare SQL")
    sql = measure.bare_sql(
        copy_world(world, "bench_bare"),
        world,
        people=chosen.annotators,
        seconds=min(chosen.seconds, BARE_SECONDS),
    )
    latencies = []
    if not chosen.quick:
        say(f"making a study with {chosen.big:,} stories")
        urls = {chosen.stories: copy_world(world, "bench_small"), chosen.big: copy_world(world, "bench_big")}
        fill_up(urls[chosen.big], stories=chosen.big)
        say("one annotator at both studies")
        latencies = measure.latencies(urls, world, port=chosen.port, requests=chosen.requests, more=more)

    now = timezone.now()
    facts = {
        "date": now.isoformat(timespec="seconds"),
        "code": code_version(),
        "machine": describe(),
        "packages": {name: version(name) for name in PACKAGES},
        "postgres": settings_of(url),
        "server": shlex.join([*web_server.OPTIONS, *more]),
        "stories": chosen.stories,
        "annotators": chosen.annotators,
        "loop": figures(loop),
        "bare_sql": figures(sql),
        "latencies": [figures(latency) for latency in latencies],
    }
    file = results / f"{now:%Y-%m-%d-%H%M%S}.json"
    file.write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")
    fine = not (
        loop.errors
        or loop.stories_over_limit
        or loop.receipts_without_vote
        or loop.integrity_broken
        or sql.integrity_broken
    )
    return table(facts) + f"\n{file}\n", fine


def run_release(chosen: argparse.Namespace, *, results: Path, say: Callable[[str], None]) -> tuple[str, bool]:
    """Measure publishing only, write a JSON file, and return the table."""
    empty_database("tomannot")
    world = make_world(stories=RELEASE_SAMPLE, people=RELEASE_PEOPLE)
    found = publishing(world, stories=chosen.release, say=say)
    now = timezone.now()
    facts = {
        "date": now.isoformat(timespec="seconds"),
        "code": code_version(),
        "machine": describe(),
        "postgres": settings_of(server_url("bench_release")),
        "release": dataclasses.asdict(found)
        | {"times_copy": found.times_copy, "times_copy_cpu": found.times_copy_cpu},
    }
    file = results / f"{now:%Y-%m-%d-%H%M%S}-release.json"
    file.write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")
    return release_table(facts) + f"\n{file}\n", True


def run_pages(chosen: argparse.Namespace, *, results: Path, say: Callable[[str], None]) -> tuple[str, bool]:
    """Measure the researchers' pages alone; the table as text, and whether all of them are in the budget.

    Writes a JSON file beside it.
    """
    empty_database("tomannot")
    say("making the beginning of a study")
    world = make_beginning()
    sizes = sorted({min(SMALL, chosen.pages), chosen.pages})
    found = [pages(world, stories=size, requests=chosen.page_requests, say=say) for size in sizes]
    small, big = found[0], found[-1]
    now = timezone.now()
    facts = {
        "date": now.isoformat(timespec="seconds"),
        "code": code_version(),
        "machine": describe(),
        "postgres": settings_of(server_url(world.database)),
        "requests": chosen.page_requests,
        "small": dataclasses.asdict(small),
        "pages": dataclasses.asdict(big),
        "faults": faults(small, big),
    }
    file = results / f"{now:%Y-%m-%d-%H%M%S}-pages.json"
    file.write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")
    return pages_table(facts) + f"\n{file}\n", not (
        facts["faults"] or big.not_measured or small.integrity_broken
    )


def run_screen(chosen: argparse.Namespace, *, results: Path, say: Callable[[str], None]) -> tuple[str, bool]:
    """Measure the wait for the next story in a browser, write a JSON file, and return the table."""
    empty_database("tomannot")
    world = make_world(stories=chosen.screen + WARM_UP + 1, people=1)
    say(f"{chosen.screen} submissions in Chromium")
    found = screen(world, submissions=chosen.screen, port=chosen.port)
    now = timezone.now()
    facts = {
        "date": now.isoformat(timespec="seconds"),
        "code": code_version(),
        "machine": describe(),
        "postgres": settings_of(server_url("bench_screen")),
        "screen": dataclasses.asdict(found),
    }
    file = results / f"{now:%Y-%m-%d-%H%M%S}-screen.json"
    file.write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")
    return screen_table(facts) + f"\n{file}\n", True


def figures(measured: measure.Loop | measure.Sql | measure.Latency) -> dict[str, Any]:
    """Return a measurement as plain values, rounded to meaningful digits."""
    values = dataclasses.asdict(measured)
    if not isinstance(measured, measure.Latency):
        values["votes_per_second"] = measured.votes_per_second
    rounded: dict[str, Any] = json.loads(json.dumps(values), parse_float=lambda text: round(float(text), 3))
    return rounded


def settings_of(url: str) -> dict[str, str]:
    """Return the relevant settings of PostgreSQL."""
    with psycopg.connect(url) as connection:
        rows = connection.execute(
            "SELECT name, current_setting(name) FROM pg_settings WHERE name = ANY(%s) ORDER BY name",
            (list(SHOWN),),
        ).fetchall()
    return dict(rows)
