import json
from argparse import ArgumentParser, ArgumentTypeError
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError

from annotation import actions
from annotation.management.base import ActionCommand, find_study
from annotation.models import Enrollment, Study
from recruitment.actions import invite_by_mail
from recruitment.links import personal_link
from tomannot import clock

MOST = 10_000


def how_many(text: str) -> int:
    if text.isascii() and text.isdigit() and 1 <= int(text) <= MOST:
        return int(text)
    raise ArgumentTypeError(f"invite between 1 and {MOST:,} people at a time, not {text!r}")


class Command(ActionCommand):
    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slug", metavar="SLUG")
        parser.add_argument("--count", type=how_many, default=None, metavar="N")
        parser.add_argument("--email", action="append", default=[], metavar="ADDRESS")
        parser.add_argument(
            "--language", choices=[code for code, _name in settings.LANGUAGES], default=settings.LANGUAGE_CODE
        )
        parser.add_argument("--qualified", action="store_true")
        parser.add_argument("--json", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["email"] and options["count"]:
            raise CommandError("Give --count or --email, not both.", returncode=2)
        study = find_study(options["slug"])
        if study.state != study.State.OPEN:
            self.stderr.write(
                f"Note: “{study.slug}” is {study.get_state_display()}; the links let people in "
                "once it is open."
            )
        enrollments = self._invite(study, options)
        answer = {"links": [personal_link(enrollment) for enrollment in enrollments]}
        if options["qualified"]:
            answer = {"links_before": _links_before(study, enrollments)} | answer
        lines = ["\t".join(line) for line in zip(*answer.values(), strict=True)]
        self.stdout.write(json.dumps(answer, indent=2) if options["json"] else "\n".join(lines))

    def _invite(self, study: Study, options: dict[str, Any]) -> list[Enrollment]:
        if options["qualified"]:
            return _invite_qualified(study)
        if not options["email"]:
            return actions.invite(study=study, count=options["count"] or 1, by=None, now=clock.now())
        addresses, language = options["email"], options["language"]
        return invite_by_mail(study=study, addresses=addresses, language=language, by=None, now=clock.now())


def _invite_qualified(study: Study) -> list[Enrollment]:
    enrollments = actions.invite_qualified(study=study, by=None, now=clock.now())
    if not enrollments:
        raise CommandError(f"Everybody who may take part in “{study.slug}” is invited already.")
    return enrollments


def _links_before(study: Study, enrollments: list[Enrollment]) -> list[str]:
    there = Enrollment.objects.filter(study=study.qualified_through)
    links = {enrollment.annotator_id: personal_link(enrollment) for enrollment in there}
    return [links[enrollment.annotator_id] for enrollment in enrollments]
