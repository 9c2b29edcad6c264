"""Publish a release of a study from the command line."""

import argparse
import json
import time
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from kombu.exceptions import OperationalError

from annotation.models import Study
from publishing.actions import releases
from publishing.errors import PublishingError, ReleaseUnderway
from publishing.files.directory import check_free, copy_release
from publishing.filters import FILTER_NAMES
from publishing.models import Release
from publishing.queries import planned_filter
from tomannot import clock
from tomannot.celery import app

POLL_SECONDS = 0.25
RESUME_SECONDS = 10.0
PING_SECONDS = 2.0
REFUSED, TIMED_OUT, FAILED = 1, 3, 4

HELP = """\
Request a release of a study, wait until a Celery worker has built it, and print its directory on
standard output. Progress goes to standard error.

If a release of the study is already being built, or its worker was killed, resume it and wait for it. A new
release is only requested if none is unfinished.
"""
EPILOG = """\
examples:
  manage.py publish_release pilot
  manage.py publish_release pilot --output ./pilot-1
  manage.py publish_release pilot --timeout 60 --json

exit codes:
  0  published
  1  refused: no such study, no complete story, the output directory is taken, or a release with another
     filter is being built
  2  wrong arguments
  3  not published in time; the release stays queued; run this again to wait for it
  4  the release failed; the message says why
"""


class Command(BaseCommand):
    help = f"{HELP}\n{EPILOG}"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        parser.add_argument("slug", metavar="SLUG", help="the study")
        parser.add_argument(
            "--output", metavar="DIR", type=Path, help="also copy the release here (new or empty)"
        )
        parser.add_argument(
            "--filter", choices=FILTER_NAMES, help="default: all-agree, or every-item for ratings"
        )
        parser.add_argument(
            "--timeout", metavar="SECONDS", type=float, default=3600, help="default: %(default)s"
        )
        parser.add_argument("--json", action="store_true", help="print the release as one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        output: Path | None = options["output"].absolute() if options["output"] else None
        try:
            if output:
                check_free(output)
            release = self._request(options["slug"], options["filter"])
            self._wait_for_worker(release)
            release = self._wait_until_published(release, deadline=time.monotonic() + options["timeout"])
            if output:
                copy_release(release.directory, output)
        except (PublishingError, OSError) as error:
            raise CommandError(str(error), returncode=REFUSED) from error
        self.stdout.write(_answer(release, output or release.directory, as_json=options["json"]))

    def _log(self, text: str) -> None:
        self.stderr.write(text, style_func=str)

    def _request(self, slug: str, filter_name: str | None) -> Release:
        study = Study.objects.filter(slug=slug).first()
        if study is None:
            raise CommandError(f"There is no study “{slug}”.", returncode=REFUSED)
        filter_name = filter_name or planned_filter(study)
        try:
            release = releases.request_release(study=study, by=None, now=clock.now(), filter_name=filter_name)
        except ReleaseUnderway as underway:
            release = Release.objects.get(pk=underway.release_id)
            if release.filter_name != filter_name:
                raise CommandError(
                    f"Release {release.number} of {slug} is already being built, with the filter "
                    f"{release.filter_name} and not {filter_name}. Wait for it with --filter "
                    f"{release.filter_name}, then request this one.",
                    returncode=REFUSED,
                ) from underway
            self._log(f"Release {release.number} of {slug} is already being built; waiting for it.")
            releases.enqueue_build(release_id=release.pk)
        else:
            self._log(f"Requested release {release.number} of {slug}.")
        return release

    def _wait_for_worker(self, release: Release) -> None:
        """Say so if no worker answers. One may still come while we wait."""
        try:
            answers = app.control.inspect(timeout=PING_SECONDS, limit=1).ping()
        except OperationalError as error:
            self._log(f"The message broker (REDIS_URL) cannot be reached: {error}")
            return
        if not answers:
            self._log(
                "No Celery worker answers. Start one (make demo does; see docs/operators.md). "
                f"Release {release.number} is queued until then."
            )

    def _wait_until_published(self, release: Release, *, deadline: float) -> Release:
        """Return the release once it is published. Resume it if its worker goes away."""
        resume_at = time.monotonic() + RESUME_SECONDS
        state = ""
        while True:
            release = Release.objects.select_related("study").get(pk=release.pk)
            if release.state != state:
                state = release.state
                self._log(f"Release {release.number} is {release.get_state_display()}.")
            if state == Release.State.PUBLISHED:
                return release
            if state == Release.State.FAILED:
                raise CommandError(f"Release {release.number} failed. {release.failure}", returncode=FAILED)
            if time.monotonic() >= deadline:
                raise CommandError(
                    f"Release {release.number} is still {release.get_state_display()}. It stays queued. "
                    "Check that a Celery worker is running, then run this again to wait for it.",
                    returncode=TIMED_OUT,
                )
            if time.monotonic() >= resume_at:
                releases.resume_releases(now=clock.now())
                resume_at = time.monotonic() + RESUME_SECONDS
            time.sleep(POLL_SECONDS)


def _answer(release: Release, directory: Path, *, as_json: bool) -> str:
    if not as_json:
        return str(directory)
    facts = {
        "study": release.study.slug,
        "number": release.number,
        "filter": release.filter_name,
        "directory": str(directory),
        "manifest_sha256": release.manifest_sha256,
        **{name: getattr(release, name) for name in releases.COUNTS},
    }
    return json.dumps(facts)
