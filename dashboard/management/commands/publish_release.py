import argparse
import json
import time
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError
from kombu.exceptions import OperationalError

from accounts.errors import DomainError
from annotation.management.base import ActionCommand, find_study
from annotation.models import Study
from dashboard.releases.recruited import recruited
from publishing.actions import releases
from publishing.errors import ReleaseUnderway
from publishing.files.directory import check_free, copy_release
from publishing.filters import FILTER_NAMES
from publishing.models import Release
from publishing.queries import planned_filter
from tomannot import clock
from tomannot.celery import app

POLL_SECONDS = 0.25
RESUME_SECONDS = 10.0
PING_SECONDS = 2.0
TIMED_OUT, FAILED = 3, 4


class Command(ActionCommand):
    refusals = (DomainError, OSError)

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("slug", metavar="SLUG")
        parser.add_argument("--output", metavar="DIR", type=Path)
        parser.add_argument("--filter", choices=FILTER_NAMES)
        parser.add_argument("--timeout", metavar="SECONDS", type=float, default=3600)
        parser.add_argument("--json", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        output: Path | None = options["output"].absolute() if options["output"] else None
        if output:
            check_free(output)
        release = self._request(find_study(options["slug"]), options["filter"])
        self._wait_for_worker(release)
        release = self._wait_until_published(release, deadline=time.monotonic() + options["timeout"])
        if output:
            copy_release(release.directory, output)
        self.stdout.write(_answer(release, output or release.directory, as_json=options["json"]))

    def _request(self, study: Study, filter_name: str | None) -> Release:
        filter_name = filter_name or planned_filter(study)
        try:
            release = releases.request_release(
                study=study, by=None, now=clock.now(), filter_name=filter_name, recruited=recruited(study)
            )
        except ReleaseUnderway as underway:
            release = Release.objects.get(pk=underway.release_id)
            if release.filter_name != filter_name:
                raise CommandError(
                    f"Release {release.number} of {study.slug} is already being built, with the filter "
                    f"{release.filter_name} and not {filter_name}. Wait for it with --filter "
                    f"{release.filter_name}, then request this one."
                ) from underway
            self.log(f"Release {release.number} of {study.slug} is already being built; waiting for it.")
            releases.enqueue_build(release_id=release.pk)
        else:
            self.log(f"Requested release {release.number} of {study.slug}.")
        return release

    def _wait_for_worker(self, release: Release) -> None:
        """Say so if no worker answers. One may still come while we wait."""
        try:
            answers = app.control.inspect(timeout=PING_SECONDS, limit=1).ping()
        except OperationalError as error:
            self.log(f"The message broker (REDIS_URL) cannot be reached: {error}")
            return
        if not answers:
            self.log(
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
                self.log(f"Release {release.number} is {release.get_state_display()}.")
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
