import json
import sys
from argparse import ArgumentParser
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from annotation import actions
from annotation.errors import ImportRefused
from annotation.management.base import ActionCommand, find_study
from annotation.models import Story, StoryImport, Study
from tomannot import clock


class Command(ActionCommand):
    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slug", metavar="SLUG")
        parser.add_argument("files", metavar="FILE", nargs="+", type=Path)
        parser.add_argument("--role", choices=Story.Role.values, default=Story.Role.MAIN.value)
        parser.add_argument("--license", default="")
        parser.add_argument("--dry-run", action="store_true")
        parser.add_argument("--json", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        study = find_study(options["slug"])
        refused = [path for path in options["files"] if not self._import(study, path, options)]
        if refused:
            raise CommandError(f"Refused, and nothing of it stored: {', '.join(map(str, refused))}.")

    def _import(self, study: Study, path: Path, options: dict[str, Any]) -> bool:
        try:
            job = actions.import_stories(
                study=study,
                path=path,
                name=str(path),
                role=Story.Role(options["role"]),
                license=options["license"][:100],
                dry_run=options["dry_run"],
                by=None,
                now=clock.now(),
                progress=self._progress if sys.stderr.isatty() else None,
            )
        except ImportRefused as refusal:
            self._say_refused(path, refusal, as_json=options["json"])
            return False
        self._say_done(path, job, as_json=options["json"])
        return True

    def _progress(self, read: int) -> None:
        self.stderr.write(f"\r{read:,} stories read", ending="")

    def _say_refused(self, path: Path, refusal: ImportRefused, *, as_json: bool) -> None:
        if as_json:
            facts = {"file": str(path), "state": "refused", "problems_found": refusal.total}
            problems = [asdict(problem) for problem in refusal.problems]
            self.stdout.write(json.dumps(facts | {"problems": problems}))
            return
        for problem in refusal.problems:
            self.stderr.write(str(problem))
        more = refusal.total - len(refusal.problems)
        if more:
            self.stderr.write(f"… and {more:,} more problems.")
        self.stderr.write(f"{path}: {refusal.total:,} problem{'' if refusal.total == 1 else 's'}.")

    def _say_done(self, path: Path, job: StoryImport, *, as_json: bool) -> None:
        counts = {
            "stories_read": job.rows_read,
            "stories_added": job.stories_added,
            "stories_unchanged": job.stories_unchanged,
            "lint_findings": job.findings,
        }
        if as_json:
            self.stdout.write(json.dumps({"file": str(path), "state": job.state, **counts}))
            return
        noun = "story" if job.rows_read == 1 else "stories"
        verb = "would be added" if job.dry_run else "added"
        self.stdout.write(
            f"{path}: {job.rows_read:,} {noun} read, {job.stories_added:,} {verb}, "
            f"{job.stories_unchanged:,} there already, {job.findings:,} lint warnings."
        )
