import dataclasses
import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any, TypeVar

import urllib3
from django.conf import settings
from django.core.management.base import CommandError
from django.db import transaction

from accounts.models import Environment
from annotation import actions
from annotation.management.base import ActionCommand, find_study
from annotation.models import Enrollment, Study
from crowd.behaviour import Behaviour, Population
from crowd.browser import NotLoopback, loopback_origin
from crowd.knowledge import truth_of
from crowd.report import AnnotatorOutcome, Report
from crowd.run import Settings, run as run_crowd
from recruitment.links import personal_path
from tomannot import clock

SAMPLE_TRUTH = settings.BASE_DIR / "sample_study" / "truth.json"
DEFAULTS = Behaviour()
PEOPLE = Population()
Chosen = TypeVar("Chosen", Population, Behaviour)
MOST_PEOPLE = 10_000
PROBABILITIES = {
    "careful": PEOPLE.careful,
    "declines": PEOPLE.declines,
    "without-javascript": PEOPLE.without_javascript,
    "leaves": DEFAULTS.leaves,
    "comes-back": DEFAULTS.comes_back,
    "submits-twice": DEFAULTS.submits_twice,
    "submits-incomplete": DEFAULTS.submits_incomplete,
    "comes-late": DEFAULTS.comes_late,
}


class Command(ActionCommand):
    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slug", metavar="SLUG")
        parser.add_argument("--base-url", required=True, metavar="URL")
        parser.add_argument("--annotators", required=True, type=int, metavar="N")
        parser.add_argument("--seed", required=True, type=int, metavar="S")
        parser.add_argument("--truth", type=Path, metavar="PATH")
        parser.add_argument("--valid", type=float, default=0.6, metavar="FLOAT")
        parser.add_argument("--concurrency", type=int, default=8, metavar="INT")
        parser.add_argument("--max-seconds", type=float, default=600.0, metavar="FLOAT")
        parser.add_argument("--pace", type=float, default=0.0, metavar="FLOAT")
        parser.add_argument("--stories-each", type=int, metavar="INT")
        parser.add_argument("--late-seconds", type=float, metavar="FLOAT")
        for name, default in PROBABILITIES.items():
            parser.add_argument(f"--{name}", type=float, default=default, metavar="P")
        parser.add_argument("--json", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        _check(options)
        study = find_study(options["slug"])
        try:  # before anything is changed for good
            urllib3.request("GET", options["base_url"], timeout=10, retries=False, redirect=False)
        except urllib3.exceptions.HTTPError as error:
            raise CommandError(
                f"No server answers at {options['base_url']}, so nothing was changed. Is it running, and on "
                "that port?"
            ) from error
        if study.state != Study.State.OPEN:
            raise CommandError(
                f"“{study.slug}” is {study.get_state_display()}, so nobody can take part. Open it first."
            )
        study = self._rehearsal(study)
        if options["late_seconds"] is None:
            options["late_seconds"] = study.lease.total_seconds() + 5
        sample = SAMPLE_TRUTH.parent / study.protocol_name / SAMPLE_TRUTH.name
        table = _read_truth(options["truth"] or (sample if sample.exists() else SAMPLE_TRUTH))
        truth = truth_of(study, table=table, valid=options["valid"], seed=options["seed"])
        named = ("seed", "pace", "stories_each", "concurrency", "max_seconds")
        run_settings = Settings(
            truth=truth,
            population=_chosen(PEOPLE, options),
            behaviour=_chosen(DEFAULTS, options),
            **{name: options[name] for name in named},
        )
        people = _people(study, options["annotators"])
        origin = loopback_origin(options["base_url"])
        links = [f"{origin}{personal_path(enrollment)}" for enrollment in people]
        try:
            report = run_crowd(
                links, base_url=options["base_url"], settings=run_settings, progress=self._progress
            )
        except KeyboardInterrupt as error:
            raise CommandError("Stopped. All answers so far are stored.", returncode=130) from error
        as_json = json.dumps(report.as_json(), ensure_ascii=False, indent=2)
        self.stdout.write(as_json if options["json"] else self.text(report=report))
        if report.errors_total:
            raise CommandError(f"{report.errors_total} errors; see above.")

    def _rehearsal(self, study: Study) -> Study:
        """Mark the study as a test run, and print a notice: this cannot be undone."""
        if study.environment == Environment.REHEARSAL:
            return study
        study = actions.make_rehearsal(study=study, by=None, now=clock.now())
        self.stderr.write(f"“{study.slug}” is now a test run, for good: simulated answers are not real.")
        return study

    def _progress(self, so_far: Report) -> None:
        people = sum(so_far.people.values())
        done = people - so_far.people.get(AnnotatorOutcome.STILL_THERE, 0)
        self.stderr.write(
            f"{so_far.seconds:5.0f} s: {done} of {people} people done, "
            f"{so_far.votes:,} votes, {so_far.errors_total} errors"
        )


def _people(study: Study, count: int) -> list[Enrollment]:
    """Invite new annotators; in a study that builds on another's test, invite those who qualified there."""
    now = clock.now()
    if study.qualified_through is None:
        return actions.invite(study=study, count=count, by=None, now=now)
    with transaction.atomic():
        people = actions.invite_qualified(study=study, by=None, now=now, most=count)
        if len(people) < count:
            raise CommandError(
                f"Only {len(people)} of those who qualified in “{study.qualified_through.slug}” can still be "
                f"invited to “{study.slug}”, so nobody was. Give at most --annotators {len(people)}."
            )
    return people


def _check(options: dict[str, Any]) -> None:
    wrong = []
    try:
        loopback_origin(options["base_url"])
    except NotLoopback as error:
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
    if not isinstance(table, dict) or not all(
        isinstance(row, dict) and all(isinstance(option, str) for option in row.values())
        for row in table.values()
    ):
        raise CommandError(
            f"--truth: {path} must look like {{story id: {{question: option}}}}.", returncode=2
        )
    return table


def _chosen(defaults: Chosen, options: dict[str, Any]) -> Chosen:
    names = [field.name for field in dataclasses.fields(defaults) if field.name in options]
    return dataclasses.replace(defaults, **{name: options[name] for name in names})
