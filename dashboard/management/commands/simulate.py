from __future__ import annotations

import dataclasses
import json
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import urllib3
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction
from django.utils import timezone

from accounts.models import Environment
from annotation import actions
from annotation.errors import WrongState
from annotation.management.studies import find_study
from annotation.models import Enrollment, Study
from dashboard import crowd
from recruitment.links import personal_link

SAMPLE_TRUTH = settings.BASE_DIR / "sample_study" / "truth.json"
DEFAULTS = crowd.Behaviour()
PEOPLE = crowd.Population()
MOST_PEOPLE = 10_000
SETTINGS: dict[str, tuple[type, Any, str]] = {
    "truth": (
        Path,
        SAMPLE_TRUTH,
        "right answers, {story id: {question: option}} (default: the sample study's)",
    ),
    "valid": (float, 0.6, "of the stories without a known truth, the share that is sound (default 0.6)"),
    "concurrency": (int, 8, "requests at the same time, 1 to 64 (default 8)"),
    "max-seconds": (float, 600.0, "stop everybody after this time (default 600)"),
    "pace": (float, 0.0, "1: people take their time, 45 s a story; 0: none at all (default 0)"),
    "stories-each": (int, None, "stories one person wants to judge (default: all they are given)"),
    "late-seconds": (
        float,
        None,
        "how late late people are (default: the study's lease and 5 s; nobody is late in a shorter run)",
    ),
}
PROBABILITIES = {
    "careful": (PEOPLE.careful, "share of people who work carefully (skill 0.97 to 1, others 0.6 to 0.8)"),
    "declines": (PEOPLE.declines, "share who do not agree to the consent text"),
    "without-javascript": (PEOPLE.without_javascript, "share whose browser sends plain forms"),
    "leaves": (DEFAULTS.leaves, "per story: closes the page in the middle"),
    "comes-back": (DEFAULTS.comes_back, "of those who left: opens the link again and goes on"),
    "submits-twice": (DEFAULTS.submits_twice, "per story: sends the same form twice"),
    "submits-incomplete": (DEFAULTS.submits_incomplete, "per story: sends an incomplete form first"),
    "comes-late": (DEFAULTS.comes_late, "per story: puts it aside for --late-seconds, then submits"),
}


class Command(BaseCommand):
    help = """Let simulated people work on a study, over real HTTP, against a server that is running.

They open personal links, consent, take the test, and judge story after story with the forms they
find on the pages. Some leave, come back, submit twice or late. The same seed gives the same people
with the same opinions. What they hold to be true comes from --truth by story id; for other stories
a truth is invented that everybody agrees on (--valid of them sound).

Simulated answers never stand beside real ones: the study becomes a REHEARSAL FOR GOOD. A study in
which real people have taken part is refused, and so is any server that is not on this machine.

examples:
  manage.py simulate sample --base-url http://127.0.0.1:8000 --annotators 25 --seed 1
  manage.py simulate sample --base-url http://127.0.0.1:8000 --annotators 100 --seed 7 --careful 0.26
  manage.py simulate sample --base-url http://127.0.0.1:8000 --annotators 5 --seed 1 --pace 1 --json

exit codes: 0 everybody did their part · 1 refused, or something happened that should not have
(it is in the report) · 2 wrong usage · 130 stopped by Ctrl-C"""

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.formatter_class = RawDescriptionHelpFormatter
        parser.add_argument("slug", metavar="SLUG", help="the study; becomes a rehearsal")
        parser.add_argument(
            "--base-url", required=True, metavar="URL", help="the running server, on this machine"
        )
        parser.add_argument("--annotators", required=True, type=int, metavar="N", help="how many people")
        parser.add_argument(
            "--seed", required=True, type=int, metavar="S", help="who they are and what they do"
        )
        for name, (kind, default, text) in SETTINGS.items():
            parser.add_argument(
                f"--{name}", type=kind, default=default, help=text, metavar=kind.__name__.upper()
            )
        for name, (default, text) in PROBABILITIES.items():
            parser.add_argument(
                f"--{name}", type=float, default=default, metavar="P", help=f"{text} (default {default})"
            )
        parser.add_argument("--json", action="store_true", help="print the report as one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        _check(options)
        study = find_study(options["slug"])
        self._check_server(options["base_url"])
        study = self._rehearsal(study)
        if study.state != Study.State.OPEN:
            raise CommandError(
                f"“{study.slug}” is {study.get_state_display()}, so nobody can take part. Open it first."
            )
        table = _read_truth(options["truth"])
        truth = crowd.truth_of(study, table=table, valid=options["valid"], seed=options["seed"])
        people = _people(study, options["annotators"])
        links = [_at(options["base_url"], personal_link(enrollment)) for enrollment in people]
        try:
            report = crowd.run(
                links,
                base_url=options["base_url"],
                seed=options["seed"],
                truth=truth,
                population=_population(options),
                behaviour=_behaviour(options, study),
                limits=crowd.Limits(concurrency=options["concurrency"], max_seconds=options["max_seconds"]),
                pace=options["pace"],
                stories_each=options["stories_each"],
                progress=self._progress,
            )
        except KeyboardInterrupt as error:
            raise CommandError("Stopped; what people had done is stored.", returncode=130) from error
        self._say(report, as_json=options["json"])
        if report.errors_total:
            raise CommandError(f"{report.errors_total} things happened that should not have; see above.")

    def _check_server(self, base_url: str) -> None:
        """Before anything is changed for good: somebody must answer there."""
        try:
            urllib3.request("GET", base_url, timeout=10, retries=False, redirect=False)
        except urllib3.exceptions.HTTPError as error:
            raise CommandError(
                f"No server answers at {base_url}, so nothing was changed. Is it running, and on that port?"
            ) from error

    def _rehearsal(self, study: Study) -> Study:
        """The study, marked as a rehearsal. Says so, because it cannot be undone."""
        if study.environment == Environment.REHEARSAL:
            return study
        try:
            study = actions.make_rehearsal(study=study, by=None, now=timezone.now())
        except WrongState as error:
            raise CommandError(str(error)) from error
        self.stderr.write(f"“{study.slug}” is now a rehearsal, for good: simulated answers are no real ones.")
        return study

    def _progress(self, progress: crowd.Progress) -> None:
        self.stderr.write(
            f"{progress.seconds:5.0f} s: {progress.people_done} of {progress.people} people done, "
            f"{progress.votes:,} votes, {progress.errors} errors"
        )

    def _say(self, report: crowd.Report, *, as_json: bool) -> None:
        if as_json:
            self.stdout.write(json.dumps(report.as_json(), ensure_ascii=False, indent=2))
            return
        for line in _lines(report):
            self.stdout.write(line)


def _people(study: Study, count: int) -> list[Enrollment]:
    """New people; in a study for those who qualified in another one, so many of them."""
    now = timezone.now()
    if study.qualified_through is None:
        return actions.invite(study=study, count=count, by=None, now=now)
    with transaction.atomic():
        people = actions.invite_qualified(study=study, by=None, now=now, most=count)
        if len(people) < count:
            raise CommandError(
                f"Of those who qualified in “{study.qualified_through.slug}”, {len(people)} are still to be "
                f"invited to “{study.slug}”, so nobody was. Give at most --annotators {len(people)}."
            )
    return people


def _check(options: dict[str, Any]) -> None:
    """Raise ``CommandError`` (wrong usage) for values that cannot be."""
    wrong = []
    try:
        crowd.loopback_origin(options["base_url"])
    except crowd.NotLoopback as error:
        wrong.append(f"--base-url: {error}")
    shares = [name for name in ("valid", *PROBABILITIES) if not 0 <= options[name.replace("-", "_")] <= 1]
    wrong += [f"--{name} must lie between 0 and 1." for name in shares]
    if not 1 <= options["annotators"] <= MOST_PEOPLE:
        wrong.append(f"--annotators must be between 1 and {MOST_PEOPLE:,}.")
    if not 1 <= options["concurrency"] <= 64:
        wrong.append("--concurrency must be between 1 and 64.")
    if options["max_seconds"] <= 0 or options["pace"] < 0 or (options["late_seconds"] or 0) < 0:
        wrong.append("--max-seconds must be above 0; --pace and --late-seconds must not be below it.")
    if options["stories_each"] is not None and options["stories_each"] < 1:
        wrong.append("--stories-each must be at least 1.")
    if wrong:
        raise CommandError("\n".join(wrong), returncode=2)


def _read_truth(path: Path) -> dict[str, dict[str, str]]:
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise CommandError(f"--truth: {path} cannot be read: {error.strerror}.", returncode=2) from error
    except ValueError as error:
        raise CommandError(f"--truth: {path} is not JSON in UTF-8: {error}.", returncode=2) from error
    if not isinstance(table, dict) or not all(_is_row(row) for row in table.values()):
        raise CommandError(
            f"--truth: {path} must look like {{story id: {{question: option}}}}.", returncode=2
        )
    return table


def _is_row(row: Any) -> bool:
    return isinstance(row, dict) and all(isinstance(option, str) for option in row.values())


def _at(base_url: str, link: str) -> str:
    """The link with its origin (PUBLIC_URL's) replaced by the running server's."""
    parts = urlsplit(link)
    return f"{crowd.loopback_origin(base_url)}{parts.path}"


def _population(options: dict[str, Any]) -> crowd.Population:
    return dataclasses.replace(
        PEOPLE,
        careful=options["careful"],
        declines=options["declines"],
        without_javascript=options["without_javascript"],
    )


def _behaviour(options: dict[str, Any], study: Study) -> crowd.Behaviour:
    late_seconds = options["late_seconds"]
    return dataclasses.replace(
        DEFAULTS,
        leaves=options["leaves"],
        comes_back=options["comes_back"],
        submits_twice=options["submits_twice"],
        submits_incomplete=options["submits_incomplete"],
        comes_late=options["comes_late"],
        late_seconds=study.lease.total_seconds() + 5 if late_seconds is None else late_seconds,
    )


def _lines(report: crowd.Report) -> list[str]:
    people = ", ".join(f"{count} {outcome}" for outcome, count in report.people.items())
    lines = [
        f"{sum(report.people.values())} people in {report.seconds:.1f} s: {people}.",
        *(f"  {count} were told: {ending}" for ending, count in report.endings.items()),
        f"{report.tests_handed_in} tests handed in, {report.votes:,} votes with a receipt "
        f"({report.votes_per_second:.1f} per second).",
        f"{report.submitted_twice} forms sent twice, {report.same_receipt_twice} of them with the same "
        f"receipt; {report.incomplete} sent incomplete first; {report.late} sent late; "
        f"{report.came_back} times somebody left and came back.",
        *(f"  {count} receipts added: {remark}" for remark, count in report.remarks.items()),
    ]
    if report.submit_p50_ms is not None:
        lines.append(
            f"Submitting took {report.submit_p50_ms} ms in the median, {report.submit_p95_ms} ms at "
            "the 95th percentile."
        )
    if report.without_receipt:
        lines.append(f"{report.without_receipt} submitted forms got no receipt.")
    if report.errors_total:
        lines.append(f"{report.errors_total} errors:")
        lines += [f"  {error}" for error in report.errors]
    return lines
