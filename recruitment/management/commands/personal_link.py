from argparse import ArgumentParser
from typing import Any

from django.db import transaction

from annotation.actions import revoke_link
from annotation.management.base import ActionCommand, enrollment_number, find_enrollment
from recruitment.actions import send_link
from recruitment.links import personal_link
from tomannot import clock


class Command(ActionCommand):
    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("enrollment", type=enrollment_number, metavar="ENROLLMENT")
        parser.add_argument("--revoke", action="store_true")
        parser.add_argument("--send", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        enrollment = find_enrollment(options["enrollment"])
        with transaction.atomic():
            if options["revoke"]:
                enrollment = revoke_link(enrollment=enrollment, by=None, now=clock.now())
            if options["send"]:
                send_link(enrollment=enrollment, by=None)
        self.stdout.write(personal_link(enrollment))
