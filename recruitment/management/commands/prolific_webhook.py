from __future__ import annotations

from argparse import ArgumentParser, RawDescriptionHelpFormatter
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.urls import reverse

from accounts.models import Environment, PlatformIdentity
from recruitment.links import absolute
from recruitment.marketplace import MarketplaceError
from recruitment.platforms import marketplace
from recruitment.prolific.hooks import subscribe
from recruitment.prolific.marketplace import Prolific


class Command(BaseCommand):
    help = """Have Prolific tell this site when submissions and studies change, and print the secret for .env.

Without it everything works too: campaigns are compared with Prolific every few minutes. With it that
happens within half a minute. PUBLIC_URL must be an https address that Prolific can reach. Running it
again changes nothing that is there.

examples:
  manage.py prolific_webhook
  manage.py prolific_webhook --rehearsal

exit codes: 0 subscribed · 1 there is no account, or Prolific refused or did not answer · 2 wrong usage"""

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.formatter_class = RawDescriptionHelpFormatter
        parser.add_argument(
            "--rehearsal", action="store_true", help="for the workspace in which studies are rehearsed"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        environment = Environment.REHEARSAL if options["rehearsal"] else Environment.LIVE
        address = absolute(reverse("prolific:hook", kwargs={"environment": environment.value}))
        try:
            prolific = marketplace(PlatformIdentity.Platform.PROLIFIC, environment)
            assert isinstance(prolific, Prolific)
            secret = subscribe(prolific.client, workspace=prolific.workspace, address=address)
        except MarketplaceError as error:
            raise CommandError(str(error)) from error
        infix = "_REHEARSAL" if options["rehearsal"] else ""
        self.stdout.write(f"PROLIFIC{infix}_WEBHOOK_SECRET={secret}")
