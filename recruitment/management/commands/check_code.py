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
        self.stdout.write(json.dumps(as_json(found)) if options["json"] else "\n".join(in_words(found)))
        if found.is_theirs is False:
            raise CommandError("The code belongs to somebody else than this participant.")


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


def in_words(found: CheckedCode) -> list[str]:
    enrollment = found.enrollment
    lines = [
        f"The code of {enrollment.pseudonym}, for: {found.outcome.value}.",
        f"They are {enrollment.get_state_display()}; stories finished: {enrollment.stories_submitted}.",
    ]
    if found.why_ended:
        lines.append(f"Why less: {found.why_ended}.")
    if not found.still_true:
        lines.append(
            "They have done more since, or the join link asks for more: their code is another one now."
        )
    if found.is_theirs:
        lines.append("It belongs to this participant.")
    return lines
