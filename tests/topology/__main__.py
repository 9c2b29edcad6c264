"""The storm in its long form: ``python -m tests.topology --seconds 600 --seed 7``. Exit code 1: it broke."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.topology.processes import Topology, missing_programs
from tests.topology.storm import Plan, Storm


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.topology", description=__doc__)
    parser.add_argument("--seconds", type=float, default=120.0, help="how long faults come (at most 3600)")
    parser.add_argument("--most", type=int, default=1_000_000, help="the most forms to send")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--people", type=int, default=20)
    parser.add_argument("--waves", type=int, default=20, help="studies, one after the other")
    parser.add_argument("--stories", type=int, default=40, help="of each study")
    parser.add_argument("--longest-fault", type=float, default=5.0, help="seconds")
    parser.add_argument("--rest", type=float, default=5.0, help="the longest pause between faults, seconds")
    parser.add_argument("--path", default="", help="of the public address, like /study")
    parser.add_argument("--output", type=Path, help="a file for the report as a line of JSON")
    given = parser.parse_args()
    if missing := missing_programs():
        parser.error(
            f"{' and '.join(missing)} not found (Debian: apt-get install nginx-light pgbouncer caddy)"
        )
    plan = Plan(
        seconds=min(given.seconds, 3600.0),
        seed=given.seed,
        people=given.people,
        waves=given.waves,
        stories=given.stories,
        most=given.most,
        longest_fault=given.longest_fault,
        rest=given.rest,
    )
    with (
        tempfile.TemporaryDirectory(prefix="tomannot-storm-") as scratch,
        Topology(Path(scratch) / "topology", given.path) as topology,
    ):
        report = Storm(topology, plan).run()
        topology.manage("check_integrity")
    sys.stdout.write(f"{report.table()}\n{report.failures or 'nothing lost, doubled or over the count'}\n")
    if given.output:
        with given.output.open("a", encoding="utf-8") as file:
            file.write(report.as_json() + "\n")
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main())
