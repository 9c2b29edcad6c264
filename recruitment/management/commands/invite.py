from __future__ import annotations

import json
from argparse import ArgumentParser, ArgumentTypeError, RawDescriptionHelpFormatter
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from annotation import actions
from annotation.management.studies import find_study
from annotation.models import Enrollment, Study
from recruitment.actions import invite_by_mail
from recruitment.errors import RecruitmentError
from recruitment.links import personal_link

MOST = 10_000


def how_many(text: str) -> int:
    """A number of people from the command line."""
    if text.isascii() and text.isdigit() and 1 <= int(text) <= MOST:
        return int(text)
    raise ArgumentTypeError(f"invite between 1 and {MOST:,} people at a time, not {text!r}")


class Command(BaseCommand):
    help = """Invite people to a study and print a personal link for each, one a line.

Every link is one person's own: it opens their place in the study, works until the study ends, and
can be sent to them again. Nobody needs a password.

examples:
  manage.py invite my-study
  manage.py invite my-study --count 25 > links.txt
  manage.py invite my-study --count 3 --json
  manage.py invite my-study --email ada@example.org --email bob@example.org --language de

With --email the link is sent there as well. You vouch for the address: it counts as confirmed, so the
person can have the link sent again, and somebody known by it keeps their place.

exit codes: 0 links printed · 1 no such study, or no mail can be sent · 2 wrong usage"""

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.formatter_class = RawDescriptionHelpFormatter
        parser.add_argument("slug", metavar="SLUG", help="the study")
        parser.add_argument(
            "--count",
            type=how_many,
            default=None,
            metavar="N",
            help=f"how many, 1 to {MOST} (default 1)",
        )
        parser.add_argument(
            "--email",
            action="append",
            default=[],
            metavar="ADDRESS",
            help="invite by mail; repeatable",
        )
        parser.add_argument(
            "--language",
            choices=[code for code, _name in settings.LANGUAGES],
            default=settings.LANGUAGE_CODE,
            help=f"of the mails (default {settings.LANGUAGE_CODE})",
        )
        parser.add_argument("--json", action="store_true", help='print {"links": [...]}')

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
        links = [personal_link(enrollment) for enrollment in enrollments]
        self.stdout.write(json.dumps({"links": links}, indent=2) if options["json"] else "\n".join(links))

    def _invite(self, study: Study, options: dict[str, Any]) -> list[Enrollment]:
        if not options["email"]:
            return actions.invite(study=study, count=options["count"] or 1, by=None, now=timezone.now())
        try:
            return invite_by_mail(
                study=study,
                addresses=options["email"],
                language=options["language"],
                by=None,
                now=timezone.now(),
            )
        except RecruitmentError as error:
            raise CommandError(str(error)) from error
