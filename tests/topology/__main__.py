"""The storm in its long form: ``python -m tests.topology --seconds 600 --seed 7``. Exit code 1: it broke."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from pathlib import Path

from tests.topology.processes import PROJECT, Topology
from tests.topology.programs import missing_programs
from tests.topology.storm import Plan, Storm

RUNS = PROJECT / "var" / "storm.jsonl"


def totals(runs: str) -> str:
    """Sum up the reports of all runs."""
    reports = [json.loads(line) for line in runs.splitlines()]
    forms, checks = Counter[str](), Counter[str]()
    for report in reports:
        forms.update(report["forms"])
        checks.update(report["check"])
        checks["unexplained"] += max(0, report["check"]["surplus"] - report["forms"]["late"])
    return (
        f"{len(reports)} runs, {forms['acknowledged']} of {forms['submissions']} submissions acknowledged, "
        f"{checks['lost']} lost, {checks['unexplained']} surplus without a late form"
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.topology", description=__doc__)
    parser.add_argument("--seconds", type=float, default=120.0, help="how long faults come (at most 3600)")
    parser.add_argument("--most", type=int, default=1_000_000, help="the most forms to send")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--people", type=int, default=64)
    parser.add_argument("--waves", type=int, default=20, help="studies, one after the other")
    parser.add_argument("--stories", type=int, default=400, help="of each study")
    parser.add_argument("--longest-fault", type=float, default=5.0, help="seconds")
    parser.add_argument("--rest", type=float, default=5.0, help="the longest pause between faults, seconds")
    parser.add_argument("--path", default="", help="of the public address, like /study")
    parser.add_argument("--output", type=Path, default=RUNS, help="a file for the report as a line of JSON")
    given = parser.parse_args()
    if missing := missing_programs():
        parser.error(
            f"{' and '.join(missing)} not found "
            "(Debian: apt-get install nginx-light pgbouncer caddy gcc libc6-dev)"
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
        long=True,
    )
    with (
        tempfile.TemporaryDirectory(prefix="tomannot-storm-") as scratch,
        Topology(Path(scratch) / "topology", given.path) as topology,
    ):
        report = Storm(topology, plan).run()
    sys.stdout.write(f"{report.table()}\n{report.failures or 'nothing lost, doubled or over the count'}\n")
    given.output.parent.mkdir(parents=True, exist_ok=True)
    with given.output.open("a", encoding="utf-8") as file:
        file.write(report.as_json() + "\n")
    sys.stdout.write(f"{given.output}: {totals(given.output.read_text(encoding='utf-8'))}\n")
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main())
