from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.core.management.base import CommandError

from accounts.models import User
from annotation import actions
from annotation.management.base import ActionCommand, find_study
from annotation.models import ApiToken
from tomannot import clock


class Command(ActionCommand):
    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("owner", metavar="NAME")
        does = parser.add_mutually_exclusive_group(required=True)
        does.add_argument("--name", metavar="TEXT")
        does.add_argument("--list", action="store_true")
        does.add_argument("--revoke", type=int, metavar="NUMBER")
        parser.add_argument("--scope", action="append", default=[], choices=ApiToken.Scope.values)
        parser.add_argument("--study", metavar="SLUG")
        parser.add_argument("--days", type=int, default=90, metavar="N")

    def handle(self, *args: Any, **options: Any) -> None:
        owner = User.objects.filter(username=options["owner"]).first()
        if owner is None:
            raise CommandError(f"There is no account “{options['owner']}”.")
        if options["list"]:
            self._list(owner)
        elif options["revoke"] is not None:
            self._revoke(owner, options["revoke"])
        else:
            self.stdout.write(self._make(owner, options))

    def _make(self, owner: User, options: dict[str, Any]) -> str:
        now = clock.now()
        study = find_study(options["study"]) if options["study"] else None
        days = min(max(options["days"], 0), 10_000)  # what is too many is refused by the action
        token, secret = actions.make_api_token(
            owner=owner,
            name=options["name"],
            scopes=options["scope"],
            expires_at=now + timedelta(days=days),
            study=study,
            by=None,
            now=now,
        )
        self.stderr.write(f"Token {token.pk}, until {token.expires_at:%Y-%m-%d}. This is shown only now:")
        return secret

    def _list(self, owner: User) -> None:
        now = clock.now()
        for token in ApiToken.objects.filter(owner=owner).select_related("study"):
            where = token.study.slug if token.study else "all studies"
            used = f"{token.last_used_at:%Y-%m-%d %H:%M}" if token.last_used_at else "never"
            self.stdout.write(
                f"{token.pk}\t{token.name}\t{token.status(now).value}\t{where}\t{' '.join(token.scopes)}"
                f"\tuntil {token.expires_at:%Y-%m-%d}\tused {used}"
            )

    def _revoke(self, owner: User, number: int) -> None:
        token = ApiToken.objects.filter(owner=owner, pk=number).first()
        if token is None:
            raise CommandError(f"“{owner.get_username()}” has no token {number}. --list shows theirs.")
        actions.revoke_api_token(token=token, by=None, now=clock.now())
        self.stdout.write(f"Token {number} is revoked.")
