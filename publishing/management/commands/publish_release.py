"""Publish a release of a study from the command line."""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone
from kombu.exceptions import OperationalError

from annotation.models import Study
from publishing import actions
from publishing.errors import PublishingError, ReleaseUnderway
from publishing.files.copying import check_free, copy_release
from publishing.filters import DEFAULT_FILTER, FILTERS
from publishing.models import Release
from tomannot.celery import app

POLL_SECONDS = 0.25
RESUME_SECONDS = 10.0
PING_SECONDS = 2.0
REFUSED, TIMED_OUT, FAILED = 1, 3, 4

HELP = """\
Publish a release of a study: the filter runs, the kept stories and the votes are written, hashed and
moved into place by a Celery worker. Waits until that is done and prints the directory on standard
output; progress goes to standard error.

If a release of the study is being made already, or its worker was killed, this waits for that one and
has it taken up again. A new release is only asked for when none is unfinished.
"""
EPILOG = """\
examples:
  manage.py publish_release pilot
  manage.py publish_release pilot --output ./pilot-1
  manage.py publish_release pilot --timeout 60 --json

exit codes:
  0  published
  1  refused: no such study, no complete story, the output directory is taken, or a release with another
     filter is being made
  2  wrong arguments
  3  not published in time; the release stays queued, and running this again waits for it
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
            "--filter", choices=sorted(FILTERS), default=DEFAULT_FILTER, help="default: %(default)s"
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
            release = self._asked_for(options["slug"], options["filter"])
            self._wait_for_worker(release)
            release = self._finished(release, deadline=time.monotonic() + options["timeout"])
            if output:
                copy_release(release.directory, output)
        except (PublishingError, OSError) as error:
            raise CommandError(str(error), returncode=REFUSED) from error
        self.stdout.write(_answer(release, output or release.directory, as_json=options["json"]))

    def _say(self, text: str) -> None:
        self.stderr.write(text, style_func=str)

    def _asked_for(self, slug: str, filter_name: str) -> Release:
        study = Study.objects.filter(slug=slug).first()
        if study is None:
            raise CommandError(f"There is no study “{slug}”.", returncode=REFUSED)
        try:
            release = actions.request_release(
                study=study, by=None, now=timezone.now(), filter_name=filter_name
            )
        except ReleaseUnderway as underway:
            release = underway.release
            if release.filter_name != filter_name:
                raise CommandError(
                    f"Release {release.number} of {slug} is being made already, with the filter "
                    f"{release.filter_name} and not {filter_name}. Wait for it with --filter "
                    f"{release.filter_name}, then ask for this one.",
                    returncode=REFUSED,
                ) from underway
            self._say(f"Release {release.number} of {slug} is being made already; waiting for it.")
            actions.enqueue_build(release_id=release.pk)
        else:
            self._say(f"Asked for release {release.number} of {slug}.")
        return release

    def _wait_for_worker(self, release: Release) -> None:
        """Say so when nobody is there to build; a worker may still come while we wait."""
        try:
            answers = app.control.inspect(timeout=PING_SECONDS, limit=1).ping()
        except OperationalError as error:
            self._say(f"The message broker (REDIS_URL) cannot be reached: {error}")
            return
        if not answers:
            self._say(
                "No Celery worker answers. Start one (make demo does; see docs/operators.md). "
                f"Release {release.number} is queued and will be built then."
            )

    def _finished(self, release: Release, *, deadline: float) -> Release:
        """The release once it is published. Has it taken up again when its worker goes away."""
        resume_at = time.monotonic() + RESUME_SECONDS
        state = ""
        while True:
            release = Release.objects.select_related("study").get(pk=release.pk)
            if release.state != state:
                state = release.state
                self._say(f"Release {release.number} is {release.get_state_display()}.")
            if state == Release.State.PUBLISHED:
                return release
            if state == Release.State.FAILED:
                raise CommandError(f"Release {release.number} failed. {release.failure}", returncode=FAILED)
            if time.monotonic() >= deadline:
                raise CommandError(
                    f"Release {release.number} is still {release.get_state_display()}. It stays queued; is a "
                    "Celery worker running? Running this again waits for it.",
                    returncode=TIMED_OUT,
                )
            if time.monotonic() >= resume_at:
                actions.resume_releases(now=timezone.now())
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
        **{name: getattr(release, name) for name in actions.COUNTS},
    }
    return json.dumps(facts)
