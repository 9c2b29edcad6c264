from argparse import ArgumentParser
from typing import Any

from django.urls import reverse

from accounts.models import Environment
from annotation.management.base import ActionCommand
from recruitment.links import absolute
from recruitment.marketplace import MarketplaceError
from recruitment.platforms import PLATFORMS, platform_named


class Command(ActionCommand):
    refusals = (MarketplaceError,)

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("platform", choices=PLATFORMS, metavar="PLATFORM")
        parser.add_argument("--rehearsal", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        environment = Environment.REHEARSAL if options["rehearsal"] else Environment.LIVE
        name = options["platform"]
        hook = reverse("link:hook", args=[name, environment.value])
        self.stdout.write(platform_named(name).subscribe(environment, address=absolute(hook)))
