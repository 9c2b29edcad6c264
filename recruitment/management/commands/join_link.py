from __future__ import annotations

from argparse import ArgumentParser, RawDescriptionHelpFormatter
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from annotation.management.studies import find_study
from recruitment.actions import remove_join_link, set_join_link
from recruitment.joining import InvalidJoinLink
from recruitment.links import join_address


class Command(BaseCommand):
    help = """Give a study one link for everybody who comes from a platform or a list, and print it.

The platform puts the participant's id at the end of the link. The same id is the same person. At the
end people see a completion code of their own, and with --return-url a button that leads back.

Running it again changes the settings that are named, and no others. Ids of one --source are the same
people in every study that names it; without one, ids belong to this study alone.

examples:
  manage.py join_link my-study
  manage.py join_link my-study --parameter PROLIFIC_PID --source prolific \\
      --return-url "https://app.example.org/done?cc={code}" --return-host app.example.org
  manage.py join_link my-study --remove

exit codes: 0 done · 1 no such study, or a setting that cannot be used · 2 wrong usage"""

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.formatter_class = RawDescriptionHelpFormatter
        parser.add_argument("slug", metavar="SLUG", help="the study")
        parser.add_argument(
            "--parameter",
            metavar="NAME",
            help="under which name the id comes (default participant)",
        )
        parser.add_argument(
            "--source",
            metavar="NAME",
            help="whose ids they are; not to be changed once people have come",
        )
        parser.add_argument(
            "--return-url",
            metavar="URL",
            help="the way back, with {code}, {participant}",
        )
        parser.add_argument(
            "--return-host",
            action="append",
            metavar="HOST",
            help="a host to which people may be sent; repeatable",
        )
        parser.add_argument("--remove", action="store_true", help="let nobody in by it any more")

    def handle(self, *args: Any, **options: Any) -> None:
        study = find_study(options["slug"])
        now = timezone.now()
        if options["remove"]:
            removed = remove_join_link(study=study, by=None, now=now)
            self.stdout.write("The join link is gone." if removed else "There is no join link.")
            return
        try:
            link = set_join_link(
                study=study,
                parameter=options["parameter"],
                source=options["source"],
                return_url=options["return_url"],
                return_hosts=options["return_host"],
                by=None,
                now=now,
            )
        except InvalidJoinLink as error:
            raise CommandError(str(error)) from error
        self.stdout.write(join_address(link))
