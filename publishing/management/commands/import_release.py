import argparse
import json
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError

from accounts.errors import DomainError
from annotation.management.base import ActionCommand
from publishing.actions.reimport import import_release
from tomannot import clock


class Command(ActionCommand):
    refusals = (DomainError, OSError)

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("directory", metavar="DIR", type=Path)
        parser.add_argument("--study", metavar="SLUG", required=True)
        parser.add_argument("--with-votes", action="store_true")
        parser.add_argument("--contact", metavar="EMAIL")
        parser.add_argument("--json", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        directory: Path = options["directory"]
        if not directory.is_dir():
            raise CommandError(f"{directory} is not a directory.", returncode=2)
        imported = import_release(
            directory=directory,
            slug=options["study"],
            contact=options["contact"] or settings.DEFAULT_FROM_EMAIL,
            with_votes=options["with_votes"],
            by=None,
            now=clock.now(),
        )
        crowd, study = imported.crowd, imported.study
        facts = {
            "study": study.slug,
            "state": study.state,
            "environment": study.environment,
            "stories": imported.stories,
            "votes": imported.votes,
            "annotators": len(crowd.first) if crowd else 0,
        }
        text = "{study} ({state}, {environment}): {stories} stories" + (
            ", {votes} votes by {annotators} people." if crowd else "."
        )
        self.stdout.write(json.dumps(facts) if options["json"] else text.format(**facts))
