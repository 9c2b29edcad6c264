"""``python -m tests.demo_mturk``: the double, the site, and a crowd, until Ctrl-C."""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import sys
import tempfile
from pathlib import Path

from tests.doubles.mturk.server import KEY_ID, SECRET, MTurkDouble
from tomannot import embedded

OWN = ("DATABASE_URL", "REDIS_URL", "RELEASES_ROOT", "MEDIA_ROOT", "STATIC_ROOT", "SECRET_KEY")
"""What is ours while it runs, whatever the environment says: nobody's data is touched."""


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="make demo-mturk",
        description="A campaign on a double of Mechanical Turk: qualification, stories, payment.",
        epilog='Through make: make demo-mturk ARGS="--workers 20 --seed 3"',
    )
    parser.add_argument("--workers", type=int, default=12, help="simulated ones, 1 to 100 (default 12)")
    parser.add_argument("--seed", type=int, default=1, help="who they are and what they do (default 1)")
    parser.add_argument("--port", type=int, help="of the site (default: 8000 or the next free one)")
    parser.add_argument(
        "--until-done", action="store_true", help="stop when the campaign is over; 1 if sums do not agree"
    )
    chosen = parser.parse_args()
    if not 1 <= chosen.workers <= 100:
        parser.error("--workers must be between 1 and 100.")
    return chosen


def say(line: str) -> None:
    sys.stdout.write(f"demo: {line}\n")
    sys.stdout.flush()


def main() -> int:
    chosen = arguments()
    chosen.static = embedded.state_directory() / "test"  # of the tests, which keep them (tests.kept)
    state = Path(tempfile.mkdtemp(prefix="tomannot-demo-mturk-"))
    with MTurkDouble(environment="sandbox", seed=chosen.seed) as double:
        prepare_environment(state, double)
        try:
            embedded.provide(progress=say)
            import django

            django.setup()
            from tests.demo_mturk.run import run

            return run(chosen, double, say=say)
        except embedded.EmbeddedServerError as error:
            say(str(error))
            return 1
        finally:
            leave(state)


def prepare_environment(state: Path, double: MTurkDouble) -> None:
    """Have everything that is started from here on meet the double where Mechanical Turk's sandbox was."""
    for name in OWN:
        os.environ.pop(name, None)
    os.environ |= {
        "TOMANNOT_VAR": str(state),
        "DJANGO_SETTINGS_MODULE": "tomannot.settings",
        "LOG_LEVEL": "WARNING",
        "MTURK_REHEARSAL_ACCESS_KEY_ID": KEY_ID,
        "MTURK_REHEARSAL_SECRET_ACCESS_KEY": SECRET,
        "MTURK_REHEARSAL_ENDPOINT": double.url,
        "MTURK_REHEARSAL_SUBMIT_HOSTS": double.url,
        "FRAME_ANCESTORS": double.url,
    }


def leave(state: Path) -> None:
    """Stop the servers and remove everything; whoever presses Ctrl-C once more does not cut that off."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    if "django" in sys.modules:
        from django.db import connections

        connections.close_all()
    if embedded.release(state):
        shutil.rmtree(state, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
