from argparse import ArgumentParser
from typing import Any

from annotation import actions
from annotation.management.base import ActionCommand, enrollment_number, find_enrollment
from tomannot import clock


class Command(ActionCommand):
    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("enrollment", type=enrollment_number, metavar="ENROLLMENT")
        parser.add_argument("--reason", required=True, metavar="TEXT")
        parser.add_argument("--lift", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        act = actions.reinstate if options["lift"] else actions.suspend
        enrollment = find_enrollment(options["enrollment"])
        enrollment = act(enrollment=enrollment, by=None, now=clock.now(), reason=options["reason"])
        self.stdout.write(f"Enrollment {enrollment.pk} is {enrollment.get_state_display()}.")
