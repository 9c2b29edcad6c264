import argparse
import json
from typing import Any

from django.core.management.base import CommandError

from annotation.management.base import ActionCommand
from publishing.actions.published import withdraw_release
from publishing.models import Deposit, Release
from tomannot import clock


class Command(ActionCommand):
    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("slug", metavar="SLUG")
        parser.add_argument("number", metavar="NUMBER", type=int)
        parser.add_argument("--reason", metavar="TEXT", required=True)
        parser.add_argument("--json", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        slug, number = options["slug"], options["number"]
        release = Release.objects.select_related("study").filter(study__slug=slug, number=number).first()
        if release is None:
            raise CommandError(f"Study “{slug}” has no release {number}.")
        withdrawal = withdraw_release(release=release, reason=options["reason"], by=None, now=clock.now())
        deposits = Deposit.objects.started_or_done().filter(release=release)
        places = [deposit.place for deposit in deposits]
        if options["json"]:
            facts = {"study": slug, "number": number, "reason": withdrawal.reason, "deposits": places}
            self.stdout.write(json.dumps(facts))
            return
        self.stdout.write(f"Release {number} of {slug} is withdrawn.")
        for deposit in deposits:
            stands = "is being uploaded to" if deposit.is_underway else "is not marked at"
            self.stdout.write(f"It {stands} {deposit.place}. Say there that it was withdrawn.")
