"""``python -m bench``: measure, print a table, write var/bench/<date>.json. See docs/benchmarks.md."""

from __future__ import annotations

import argparse
import math
import os
import shutil
import sys
from pathlib import Path

from bench.http import WARM_UP_REQUESTS
from tomannot import embedded
from tomannot.embedded.locks import FileLock

OWN = ("DATABASE_URL", "REDIS_URL", "RELEASES_ROOT", "MEDIA_ROOT", "STATIC_ROOT", "PUBLIC_URL")
"""Variables that are always replaced while measuring, so that no other database is touched."""


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="make bench",
        description="Measure the annotate loop on the real web server and a PostgreSQL of its own.",
        epilog='Through make: make bench ARGS="--seconds 20 --stories 3600"',
    )
    parser.add_argument("--seconds", type=float, default=20.0, help="seconds of the annotate loop (20)")
    parser.add_argument("--stories", type=int, default=3600, help="stories of the study (default 3600)")
    parser.add_argument("--annotators", type=int, default=8, help="simultaneous annotators (default 8)")
    parser.add_argument(
        "--big", type=int, default=1_000_000, metavar="STORIES", help="stories of the big study"
    )
    parser.add_argument("--requests", type=int, default=300, help="timed requests per study, for latencies")
    parser.add_argument("--quick", action="store_true", help="skip the latencies and the big study")
    parser.add_argument(
        "--release",
        type=int,
        default=0,
        metavar="STORIES",
        help="only measure publishing a release with this many stories",
    )
    parser.add_argument(
        "--pages",
        type=int,
        default=0,
        metavar="STORIES",
        help="only measure the researchers' pages of a study with this many stories",
    )
    parser.add_argument(
        "--page-requests", type=int, default=30, metavar="REQUESTS", help="requests per page (default 30)"
    )
    parser.add_argument("--port", type=int, default=8900, help="the first of the two ports to use")
    parser.add_argument(
        "--static", metavar="DIRECTORY", help="collected static files to serve (default: collect them)"
    )
    parser.add_argument("--server", default="", metavar="OPTIONS", help="additional options for granian")
    parser.add_argument(
        "--screen",
        type=int,
        default=0,
        metavar="SUBMISSIONS",
        help="only measure this many submissions in Chromium, from the key to the next story on screen",
    )
    chosen = parser.parse_args()
    if chosen.screen and not 1 <= chosen.screen <= 500:
        parser.error("--screen must be between 1 and 500.")
    if chosen.pages and not 300 <= chosen.pages <= 2_000_000:
        parser.error("--pages must be between 300 and 2000000.")
    if not 1 <= chosen.page_requests <= 1000:
        parser.error("--page-requests must be between 1 and 1000.")
    if chosen.release and not 100 <= chosen.release <= 2_000_000:
        parser.error("--release must be between 100 and 2000000.")
    if not 0 < chosen.seconds <= 120:
        parser.error("--seconds must be above 0 and at most 120.")
    if not 1 <= chosen.annotators <= 64 or not 1 <= chosen.requests <= 1000:
        parser.error("--annotators must be between 1 and 64, --requests between 1 and 1000.")
    least = 0 if chosen.quick else needed_stories(chosen.requests)
    if chosen.stories < max(10, least) or chosen.big < chosen.stories:
        parser.error(f"--stories must be at least {max(10, least)}, --big at least as many.")
    return chosen


def needed_stories(requests: int) -> int:
    """Return the number of stories that these latency requests, and the warm-up before them, can use up.

    One annotator answers a story per request, and each new one holds one of a story's three slots.
    """
    rounds = requests + WARM_UP_REQUESTS
    return rounds + math.ceil(rounds / 3) + 1


def say(line: str) -> None:
    sys.stderr.write(f"bench: {line}\n")
    sys.stderr.flush()


def main() -> None:
    chosen = arguments()
    results = embedded.state_directory() / "bench"
    state = results / "state"
    state.mkdir(parents=True, exist_ok=True)
    lock = FileLock(results / "lock")
    if not lock.try_exclusive():
        sys.exit(f"bench: another benchmark is running in {results}.")
    prepare_environment(state)
    if chosen.static:
        os.environ["STATIC_ROOT"] = chosen.static
    try:
        embedded.provide(progress=say)
    except embedded.EmbeddedServerError as error:
        sys.exit(f"bench: {error}")
    import django

    django.setup()
    from bench.run import run, run_pages, run_release, run_screen
    from bench.screen import NoBrowser

    try:
        parts = ((chosen.release, run_release), (chosen.pages, run_pages), (chosen.screen, run_screen))
        measure = next((part for size, part in parts if size), run)
        report, fine = measure(chosen, results=results, say=say)
    except NoBrowser as error:
        sys.exit(f"bench: {error}")
    finally:
        from django.db import connections

        connections.close_all()
        if embedded.release():
            shutil.rmtree(state, ignore_errors=True)
    sys.stdout.write(report)
    sys.exit(0 if fine else 1)


def prepare_environment(state: Path) -> None:
    """Let all programs started from here use their own servers and directories."""
    for name in OWN:
        os.environ.pop(name, None)
    os.environ |= {
        "TOMANNOT_VAR": str(state),
        "DJANGO_SETTINGS_MODULE": "tomannot.settings",
        "DEBUG": "false",
        "LOG_LEVEL": "WARNING",
    }


if __name__ == "__main__":
    main()
