"""Make a study of a release directory, wherever it came from."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from annotation.errors import AnnotationError, ImportRefused
from publishing.errors import PublishingError
from publishing.reimporting.actions import Imported, import_release

HELP = """\
Make a study of a release: its kept and dropped stories, with the protocol that it names. The directory
is checked first, as verify_release does it, all but its machine validation.

Without votes the study is a draft, in which the stories can be judged anew. With --with-votes it is
closed, and has every counted vote on those stories, by people whom nobody can name. A release made of
it gives the same verdicts.
"""
EPILOG = """\
examples:
  manage.py import_release ./pilot-1 --study pilot-again
  manage.py import_release ./pilot-1 --study pilot-copy --with-votes --json

exit codes:
  0  imported
  1  refused (not sound, a study of that name, a protocol that is not installed); nothing was created
  2  wrong arguments
"""


class Command(BaseCommand):
    help = f"{HELP}\n{EPILOG}"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        parser.add_argument("directory", metavar="DIR", type=Path, help="the release")
        parser.add_argument("--study", metavar="SLUG", required=True, help="the new study's short name")
        parser.add_argument("--with-votes", action="store_true", help="also import the votes")
        parser.add_argument(
            "--contact", metavar="EMAIL", help="whom annotators can write to (default: DEFAULT_FROM_EMAIL)"
        )
        parser.add_argument("--json", action="store_true", help="print what was imported as one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        directory: Path = options["directory"]
        if not directory.is_dir():
            raise CommandError(f"{directory} is not a directory.", returncode=2)
        try:
            imported = import_release(
                directory=directory,
                slug=options["study"],
                contact=options["contact"] or settings.DEFAULT_FROM_EMAIL,
                with_votes=options["with_votes"],
                by=None,
                now=timezone.now(),
            )
        except ImportRefused as refusal:
            problems = "\n".join(map(str, refusal.problems))
            raise CommandError(f"{refusal}\n{problems}", returncode=1) from refusal
        except (AnnotationError, PublishingError, OSError) as error:
            raise CommandError(str(error), returncode=1) from error
        self.stdout.write(json.dumps(as_json(imported)) if options["json"] else as_text(imported))


def as_json(imported: Imported) -> dict[str, Any]:
    crowd = imported.crowd
    return {
        "study": imported.study.slug,
        "state": imported.study.state,
        "environment": imported.study.environment,
        "stories": imported.stories,
        "votes": imported.votes,
        "annotators": len(crowd.served) if crowd else 0,
        "votes_left_out": crowd.left_out if crowd else None,
        "incomplete_stories_left_out": crowd.left_out_stories if crowd else None,
    }


def as_text(imported: Imported) -> str:
    facts = as_json(imported)
    text = "{study} ({state}, {environment}): {stories} stories".format(**facts)
    if imported.crowd is None:
        return f"{text}."
    text += ", {votes} votes by {annotators} people.".format(**facts)
    if facts["votes_left_out"]:
        text += (
            " Not imported: {votes_left_out} votes on {incomplete_stories_left_out} incomplete stories, "
            "which the release does not hold."
        ).format(**facts)
    return text
