from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from annotation.management.base import ActionCommand, find_study
from dashboard.actions import move_study
from dashboard.overview.checklist import GapsNotAccepted
from dashboard.recruitment.study_state import OPEN
from publishing.filters import FILTER_NAMES
from tomannot import clock


class Command(ActionCommand):
    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slug", metavar="SLUG")
        gaps = ["consent_edited", "pay", "mail"]
        parser.add_argument("--filter", choices=FILTER_NAMES, default="")
        parser.add_argument("--accept", nargs="+", choices=gaps, default=[])

    def handle(self, *args: Any, **options: Any) -> None:
        study = find_study(options["slug"])
        if study.state == study.State.OPEN:
            self.stdout.write(f"“{study.slug}” is open already.")
            return
        try:
            move_study(
                study=study,
                move=OPEN,
                campaigns=None,
                accepted=options["accept"],
                planned_filter=options["filter"],
                by=None,
                now=clock.now(),
            )
        except GapsNotAccepted as error:
            names = " ".join([*options["accept"], *(gap.code for gap in error.gaps)])
            hint = "" if any(gap.blocks for gap in error.gaps) else f" To open all the same: --accept {names}"
            raise CommandError(f"{error}{hint}") from error
        self.stdout.write(f"“{study.slug}” is open.")
