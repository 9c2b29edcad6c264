import argparse
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from annotation.management.base import ActionCommand
from publishing.verification import CHECKS, CheckedRelease, check_release

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
            release = check_release(directory, with_machine_validation=not options["no_machine_validation"])
        except OSError as error:
            raise CommandError(f"{error.filename}: {error.strerror}.", returncode=USAGE) from error
        self.stdout.write(json.dumps(as_json(release)) if options["json"] else as_text(release))
        if not release.is_sound:
            found = release.total
            raise CommandError(f"{directory}: {found} finding{'' if found == 1 else 's'}.")


def as_json(release: CheckedRelease) -> dict[str, Any]:
    """Return what was found as one object. ``total`` also counts findings that are not listed."""
    document = release.description.document if release.description else {}
    return {
        "directory": str(release.directory),
        "study": document.get("study"),
        "number": document.get("number"),
        "manifest_sha256": release.manifest_sha256,
        "sound": release.is_sound,
        "total": release.total,
        "findings": [asdict(one) for one in release.shown],
        "skipped": sorted(release.skipped),
        "unchecked": release.unchecked,
    }


def as_text(release: CheckedRelease) -> str:
    """Return one line per check, with its findings below it."""
    text = []
    for check in CHECKS:
        found = release.count(check)
        shown = [finding for finding in release.shown if finding.check == check]
        state = "BROKEN" if found else "skipped" if check in release.skipped else "ok"
        text.append(f"{state:<7} {check}{f': {found}' if found else ''}")
        text += [f"        {finding}" for finding in shown]
        if found > len(shown):
            text.append(f"        … and {found - len(shown)} more")
    text += [f"note    {note}" for note in release.unchecked]
    text.append(f"MANIFEST {release.manifest_sha256 or 'is missing'}")
    return "\n".join(text)
