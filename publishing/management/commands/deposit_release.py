"""Deposit a published release at a place outside from the command line."""

from __future__ import annotations

import argparse
import getpass
import json
import os
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.urls import reverse
from django.utils import timezone

from publishing.destinations import addresses
from publishing.destinations.actions import deposit_release
from publishing.destinations.base import Destination, PlaceOccupied, Unreachable, WrongPlace
from publishing.destinations.hugging_face import HuggingFaceDataset
from publishing.destinations.package import Package, package
from publishing.destinations.s3 import S3Prefix
from publishing.destinations.zenodo import ZenodoZip
from publishing.errors import PublishingError, Withdrawn
from publishing.models import Release

REFUSED, WRONG_USE, UNREACHABLE, OCCUPIED = 1, 2, 3, 4
TOKEN_VARIABLE = "HF_TOKEN"  # noqa: S105 (the name of a variable)
HERE = {"localhost", "127.0.0.1", "::1"}

HELP = """\
Bring a published release to a place outside, as it is, and compare every file there with MANIFEST.
Prints where it is on standard output; progress goes to standard error. Cut off at any instant, running it
again completes it. What stands there already is never overwritten by another release.

  s3://bucket/prefix      S3 or a store that speaks like it (S3_ENDPOINT_URL); credentials as for boto3
  huggingface:owner/name  a dataset repository; token from HF_TOKEN, or asked for
  zip:PATH                a zip for Zenodo, with PATH's name and .zenodo.json beside it
"""
EPILOG = """\
examples:
  manage.py deposit_release pilot 1 --to s3://our-datasets/pilot/1 --dry-run
  manage.py deposit_release pilot 1 --to huggingface:our-lab/pilot --public
  manage.py deposit_release pilot 1 --to zip:pilot-1.zip --json

exit codes:
  0  it is there, whole and compared (with --dry-run: it could be brought there)
  1  refused: no such published release, withdrawn, a rehearsal, no right to write, wrong visibility,
     a fault there
  2  wrong arguments, or no token and nobody to ask
  3  the place could not be reached or broke off; running this again goes on
  4  something else stands there
"""


class Command(BaseCommand):
    help = f"{HELP}\n{EPILOG}"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        parser.add_argument("slug", metavar="SLUG", help="the study")
        parser.add_argument("number", metavar="NUMBER", type=int, help="the release")
        parser.add_argument("--to", metavar="PLACE", required=True, help="where to")
        parser.add_argument("--dry-run", action="store_true", help="say what would be sent; send nothing")
        parser.add_argument(
            "--public", action="store_true", help="everybody is to read it there; its page then says where"
        )
        parser.add_argument("--rehearsal", action="store_true", help="deposit a rehearsal, marked as one")
        parser.add_argument("--json", action="store_true", help="print the outcome as one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            address = addresses.parse(options["to"])
        except WrongPlace as error:
            raise CommandError(str(error), returncode=WRONG_USE) from None
        release = _release(options["slug"], options["number"], rehearsal=options["rehearsal"])
        destination = _destination(address, release, public=options["public"])
        try:
            packed = _packed(release)
            if options["dry_run"]:
                answer = self._planned(destination, packed, as_json=options["json"])
            else:
                answer = self._deposited(destination, packed, release, as_json=options["json"])
        except (PublishingError, OSError) as error:
            raise CommandError(str(error), returncode=_exit_code(error)) from None
        self.stdout.write(answer)

    def _say(self, text: str) -> None:
        self.stderr.write(text, style_func=str)

    def _planned(self, destination: Destination, packed: Package, *, as_json: bool) -> str:
        plan = destination.plan(packed)
        if as_json:
            return json.dumps(
                {
                    "place": destination.place,
                    "upload": [file.path for file in plan.upload],
                    "bytes": plan.size,
                    "remove": [*plan.remove],
                    "note": plan.note,
                }
            )
        lines = [f"upload  {file.sha256}  {file.size:>12,}  {file.path}" for file in plan.upload]
        lines += [f"remove  {path}" for path in plan.remove]
        return "\n".join([*lines, f"{len(plan.upload)} files, {plan.size:,} bytes. {plan.note}".strip()])

    def _deposited(
        self, destination: Destination, packed: Package, release: Release, *, as_json: bool
    ) -> str:
        if destination.kind == addresses.ZIP:  # a file on this machine is not a place outside: no record
            url = destination.deposit(packed, self._say).url
        else:
            done = deposit_release(
                release=release,
                destination=destination,
                package=packed,
                by=None,
                now=timezone.now(),
                say=self._say,
            )
            url = done.url
            if done.outlived_withdrawal:
                self._say("The release was withdrawn during the upload. Say so at the place.")
        where = destination.place if destination.kind == addresses.ZIP else url
        if not as_json:
            return where
        facts = {
            "study": packed.slug,
            "number": packed.number,
            "kind": destination.kind,
            "place": destination.place,
            "url": url,
            "public": destination.public,
            "manifest_sha256": release.manifest_sha256,
        }
        return json.dumps(facts)


def _release(slug: str, number: int, *, rehearsal: bool) -> Release:
    releases = Release.objects.select_related("study", "withdrawal")
    release = releases.filter(study__slug=slug, number=number).first()
    if release is None:
        raise CommandError(f"Study “{slug}” has no release {number}.", returncode=REFUSED)
    if release.state != Release.State.PUBLISHED:
        raise CommandError(
            f"Release {number} of {slug} is {release.get_state_display()}. Only a published release leaves.",
            returncode=REFUSED,
        )
    if release.withdrawn:
        raise CommandError(
            f"{Withdrawn(release)} Only a release that stands is brought anywhere. Where it has been brought "
            "already, say there that it was withdrawn.",
            returncode=REFUSED,
        )
    is_rehearsal = release.environment == "rehearsal"
    if is_rehearsal and not rehearsal:
        raise CommandError(
            f"Release {number} of {slug} is a rehearsal, not data. Add --rehearsal to deposit it as one.",
            returncode=REFUSED,
        )
    if rehearsal and not is_rehearsal:
        raise CommandError(
            f"Release {number} of {slug} is no rehearsal. Leave --rehearsal out.", returncode=WRONG_USE
        )
    return release


def _destination(address: addresses.Address, release: Release, *, public: bool) -> Destination:
    if address.kind == addresses.S3:
        return S3Prefix(address.place, public=public, endpoint_url=settings.S3_ENDPOINT_URL)
    if address.kind == addresses.HUGGING_FACE:
        return HuggingFaceDataset(address.place, token=_token(), endpoint=settings.HF_ENDPOINT, public=public)
    if public:
        raise CommandError("--public says nothing about a zip. Leave it out.", returncode=WRONG_USE)
    page = reverse("publishing:release", args=[release.study.slug, release.number])
    site = urlsplit(settings.PUBLIC_URL)
    return ZenodoZip(
        address.place, page="" if site.hostname in HERE else f"{site.scheme}://{site.netloc}{page}"
    )


def _token() -> str:
    """The Hugging Face token, from the environment or from who sits there. Kept nowhere."""
    token = os.environ.get(TOKEN_VARIABLE, "").strip()
    if not token and sys.stdin.isatty():
        token = getpass.getpass("Hugging Face token (with the right to write): ").strip()
    if not token:
        raise CommandError(
            f"No Hugging Face token. Set {TOKEN_VARIABLE}, or run this in a terminal to be asked for it.",
            returncode=WRONG_USE,
        )
    return token


def _packed(release: Release) -> Package:
    before = Release.objects.published().filter(study=release.study_id, number__lt=release.number)
    earlier: list[Path] = [found.directory for found in before.select_related("study").order_by("-number")]
    return package(
        release.directory,
        slug=release.study.slug,
        number=release.number,
        rehearsal=release.environment == "rehearsal",
        manifest_sha256=release.manifest_sha256,
        earlier=earlier,
    )


def _exit_code(error: PublishingError | OSError) -> int:
    if isinstance(error, Unreachable):
        return UNREACHABLE
    if isinstance(error, PlaceOccupied):
        return OCCUPIED
    return REFUSED
