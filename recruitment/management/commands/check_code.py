import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from annotation.management.base import ActionCommand, find_study
from recruitment.queries import CheckedCode, check_code


class Command(ActionCommand):
    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slug", metavar="SLUG")
        parser.add_argument("code", metavar="CODE")
        parser.add_argument("--participant", default="", metavar="ID")
        parser.add_argument("--json", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        study = find_study(options["slug"])
        found = check_code(study, options["code"], participant=options["participant"])
        if found is None:
            raise CommandError(f"“{options['code']}” is no completion code of “{study.slug}”.")
        text = self.text(found=found, enrollment=found.enrollment)
        self.stdout.write(json.dumps(as_json(found)) if options["json"] else text)
        if found.is_theirs is False:
            raise CommandError("The code belongs to another participant.")


def as_json(found: CheckedCode) -> dict[str, Any]:
    return {
        "enrollment": found.enrollment.pk,
        "pseudonym": found.enrollment.pseudonym,
        "outcome": found.outcome.value,
        "why_ended": found.why_ended,
        "still_true": found.still_true,
        "state": found.enrollment.state,
        "stories_submitted": found.enrollment.stories_submitted,
        "is_theirs": found.is_theirs,
    }
