import argparse
import getpass
import json
import os
import sys
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.management.base import CommandError

from accounts.errors import DomainError
from annotation.management.base import ActionCommand
from publishing import errors
from publishing.actions.published import check_depositable, deposit_release
from publishing.destinations.base import HUGGING_FACE, S3, ZIP, Destination, Package, parse_address
from publishing.destinations.hugging_face import HuggingFaceDataset
from publishing.destinations.s3 import S3Prefix
from publishing.destinations.zenodo import ZenodoZip
from publishing.files import directory
from publishing.files.directory import MANIFEST
from publishing.models import Release
from tomannot import clock

REFUSED, WRONG_USE, UNREACHABLE, OCCUPIED = 1, 2, 3, 4
TOKEN_VARIABLE = "HF_TOKEN"  # noqa: S105 (the name of a variable)
HERE = {"localhost", "127.0.0.1", "::1"}


class Command(ActionCommand):
    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("slug", metavar="SLUG")
        parser.add_argument("number", metavar="NUMBER", type=int)
        parser.add_argument("--to", metavar="PLACE", required=True)
        parser.add_argument("--dry-run", action="store_true")
        parser.add_argument("--public", action="store_true")
        parser.add_argument("--rehearsal", action="store_true")
        parser.add_argument("--json", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            kind, place = parse_address(options["to"])
        except errors.WrongPlace as error:
            raise CommandError(str(error), returncode=WRONG_USE) from None
        release = _release(options["slug"], options["number"], rehearsal=options["rehearsal"])
        destination = _destination(kind, place, release, public=options["public"])
        try:
            packed = _package(release)
            if options["dry_run"]:
                answer = self._planned(destination, packed, as_json=options["json"])
            else:
                answer = self._deposited(destination, packed, release, as_json=options["json"])
        except (DomainError, OSError) as error:
            code = UNREACHABLE if isinstance(error, errors.Unreachable) else REFUSED
            code = OCCUPIED if isinstance(error, errors.PlaceOccupied) else code
            raise CommandError(str(error), returncode=code) from None
        self.stdout.write(answer)

    def _planned(self, destination: Destination, packed: Package, *, as_json: bool) -> str:
        plan = destination.plan(packed)
        if as_json:
            paths = {"upload": [file.path for file in plan.upload], "remove": [*plan.remove]}
            return json.dumps({"place": destination.place, **paths, "bytes": plan.size, "note": plan.note})
        lines = [f"upload  {file.sha256}  {file.size:>12,}  {file.path}" for file in plan.upload]
        lines += [f"remove  {path}" for path in plan.remove]
        return "\n".join([*lines, f"{len(plan.upload)} files, {plan.size:,} bytes. {plan.note}".strip()])

    def _deposited(
        self, destination: Destination, packed: Package, release: Release, *, as_json: bool
    ) -> str:
        if destination.kind == ZIP:  # a local file is not recorded as a deposit
            url = destination.deposit(packed, self.log)
        else:
            done = deposit_release(
                release=release,
                destination=destination,
                package=packed,
                by=None,
                now=clock.now(),
                log=self.log,
            )
            url = done.url
            if done.outlived_withdrawal:
                self.log("The release was withdrawn during the upload. Mark it at the place.")
        where = destination.place if destination.kind == ZIP else url
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
        raise CommandError(f"Study “{slug}” has no release {number}.")
    check_depositable(release)
    is_rehearsal = release.environment == "rehearsal"
    if is_rehearsal and not rehearsal:
        raise CommandError(
            f"Release {number} of {slug} is a test run, not data. Add --rehearsal to deposit it as one."
        )
    if rehearsal and not is_rehearsal:
        raise CommandError(
            f"Release {number} of {slug} is not a test run. Leave out --rehearsal.", returncode=WRONG_USE
        )
    return release


def _destination(kind: str, place: str, release: Release, *, public: bool) -> Destination:
    if kind == S3:
        return S3Prefix(place, public=public, endpoint_url=settings.S3_ENDPOINT_URL)
    if kind == HUGGING_FACE:
        return HuggingFaceDataset(place, token=_token(), endpoint=settings.HF_ENDPOINT, public=public)
    if public:
        raise CommandError("--public does not apply to a zip. Leave it out.", returncode=WRONG_USE)
    site = urlsplit(settings.PUBLIC_URL)
    return ZenodoZip(
        place, page="" if site.hostname in HERE else f"{site.scheme}://{site.netloc}{release.url}"
    )


def _token() -> str:
    """Return the Hugging Face token, from the environment or the terminal. Stored nowhere."""
    token = os.environ.get(TOKEN_VARIABLE, "").strip()
    if not token and sys.stdin.isatty():
        token = getpass.getpass("Hugging Face token (with the right to write): ").strip()
    if not token:
        raise CommandError(
            f"No Hugging Face token. Set {TOKEN_VARIABLE}, or run this in a terminal to be asked for it.",
            returncode=WRONG_USE,
        )
    return token


def _package(release: Release) -> Package:
    """Check every file of the release and return it as a package. Missing earlier releases are left out."""
    source = release.directory
    files, _ = directory.verify(source, release.manifest_sha256)
    before = Release.objects.published().filter(study=release.study_id, number__lt=release.number)
    manifests = [one.directory / MANIFEST for one in before.select_related("study").order_by("-number")]
    return Package(
        directory=source,
        slug=release.study.slug,
        number=release.number,
        rehearsal=release.environment == "rehearsal",
        files=(*files, directory.file_facts(source, MANIFEST)),
        earlier=tuple(path.read_bytes() for path in manifests if path.is_file()),
    )
