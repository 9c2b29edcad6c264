"""Check a release directory, wherever it came from."""

import argparse
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from annotation.management.base import ActionCommand
from publishing.verification import CHECKS, Report, check_release

FINDINGS = 1
USAGE = 2


class Command(ActionCommand):
    requires_system_checks = ()  # they ask for the database

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("directory", metavar="DIR", type=Path)
        parser.add_argument("--no-machine-validation", action="store_true")
        parser.add_argument("--json", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        directory: Path = options["directory"]
        if not directory.is_dir():
            raise CommandError(f"{directory} is not a directory.", returncode=USAGE)
        try:
            report = check_release(directory, with_machine_validation=not options["no_machine_validation"])
        except OSError as error:
            raise CommandError(f"{error.filename}: {error.strerror}.", returncode=USAGE) from error
        self.stdout.write(json.dumps(as_json(report)) if options["json"] else as_text(report))
        if not report.is_sound:
            found = report.findings.total
            raise CommandError(
                f"{directory}: {found} finding{'' if found == 1 else 's'}.", returncode=FINDINGS
            )


def as_json(report: Report) -> dict[str, Any]:
    """Return the report as one object. ``total`` also counts findings that are not listed."""
    document = report.description.document if report.description else {}
    return {
        "directory": str(report.directory),
        "study": document.get("study"),
        "number": document.get("number"),
        "manifest_sha256": report.manifest_sha256,
        "sound": report.is_sound,
        "total": report.findings.total,
        "findings": [asdict(one) for one in report.shown],
        "skipped": sorted(report.findings.skipped),
        "unchecked": report.findings.unchecked,
    }


def as_text(report: Report) -> str:
    """Return one line per check, with its findings below it."""
    text = []
    for check in CHECKS:
        found = report.findings.of(check)
        shown = [finding for finding in report.shown if finding.check == check]
        state = "BROKEN" if found else "skipped" if check in report.findings.skipped else "ok"
        text.append(f"{state:<7} {check}{f': {found}' if found else ''}")
        text += [f"        {finding}" for finding in shown]
        if found > len(shown):
            text.append(f"        … and {found - len(shown)} more")
    text += [f"note    {note}" for note in report.findings.unchecked]
    text.append(f"MANIFEST {report.manifest_sha256 or 'is missing'}")
    return "\n".join(text)
