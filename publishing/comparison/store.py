"""Stored comparisons of two releases: computing them in a worker, and finding them for pages.

They are derived data in a hidden directory beside the study's releases: deleting it costs a minute of a
worker. A comparison is named by the hashes of both releases, so it is never out of date.
"""

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice
from pathlib import Path
from typing import Any

import orjson
from django.conf import settings
from django.db.models import Q
from django.utils.translation import gettext as _

from annotation.models import Study
from publishing.comparison.changes import Difference, changed_rows, difference_in
from publishing.errors import UnusableRelease
from publishing.files import directory, jsonl
from publishing.files.rows import RELEASE_JSON, STATISTICS_JSON
from publishing.models import Release
from publishing.store import fetch, install, put, remove_leftovers
from tomannot.celery import Job

COMPARE_TASK = "publishing.tasks.compare_releases"
FORMAT = 2
"""Version of the files; a change rebuilds every comparison."""
SUMMARY = "summary.json"
DOCUMENTS = (RELEASE_JSON, STATISTICS_JSON)
SHOWN = ("scenario_name", "story_generator_model")
"""Facts about a story that pages show beside its change."""
UNFINISHED = ".unfinished-"
PER_PAGE = 50
REFUSED_FOR = timedelta(seconds=30)
"""The time for which a failure is shown before the page requests the comparison again."""


@dataclass(frozen=True, slots=True)
class ReleaseComparison:
    """A finished comparison. ``summary`` is written by :func:`compare`."""

    place: Path
    summary: dict[str, Any]

    def page(self, kind: Difference, number: int) -> list[dict[str, Any]]:
        """Return a page (from 1) of differing stories of a kind; empty beyond the last."""
        start = max(number - 1, 0) * PER_PAGE
        with open(self.place / f"{kind}.jsonl", "rb", buffering=1 << 18) as file:
            return [orjson.loads(line) for line in islice(file, start, max(number, 0) * PER_PAGE)]

    def rows(self, kind: Difference) -> Iterator[dict[str, Any]]:
        """Yield all differing stories of a kind."""
        return jsonl.rows(self.place / f"{kind}.jsonl")


def place_of(before: Release, now: Release) -> Path:
    """Return the directory of the comparison, which may not exist yet."""
    hashes = f"{before.manifest_sha256[:24]}-{now.manifest_sha256[:24]}"
    return Path(settings.RELEASES_ROOT) / before.study.slug / ".comparisons" / f"{hashes}-{FORMAT}"


def published_pair(study: Study, first: int, second: int) -> tuple[Release, Release] | None:
    """Return two different published releases of the study, older first; None if either is missing."""
    found = Release.objects.published().filter(study=study, number__in={first, second})
    pair = list(found.select_related("study", "withdrawal").order_by("number"))
    return (pair[0], pair[1]) if len(pair) == 2 else None


def load(before: Release, now: Release) -> ReleaseComparison | None:
    """Return the comparison if a worker has finished it."""
    place = fetch(place_of(before, now))
    try:
        return ReleaseComparison(place, json.loads((place / SUMMARY).read_bytes()))
    except FileNotFoundError:
        return None


def get_or_request(before: Release, now: Release) -> tuple[ReleaseComparison | None, str]:
    """Return the comparison; else have a worker build it, and return the failure of the last try, if any."""
    found = load(before, now)
    if found:
        return found, ""
    job = job_of(before, now)
    job.request()
    return None, job.failure()


def job_of(before: Release, now: Release) -> Job:
    """Return the job of a worker that compares these releases."""
    return Job(COMPARE_TASK, (before.pk, now.pk), f"compared:{place_of(before, now)}")


def compare(before: Release, now: Release) -> None:
    """Compare two published releases of a study by their files and store the result.

    Memory is bounded by one story, and by experts' decisions. Raise
    :class:`~publishing.errors.UnusableRelease` if files are missing or changed, and ``OSError``, which is
    ``StoreUnavailable`` if the shared store does not answer.
    """
    place = place_of(before, now)
    if place.exists():
        put(place, place)  # for the other machines, if the store lacks it
        return
    for release in (before, now):
        _check(release)
    remove_leftovers(place.parent, UNFINISHED)
    try:
        with directory.hidden_beside(place, UNFINISHED) as unfinished:
            unfinished.mkdir()
            summary = _write(unfinished, before.directory, now.directory)
            (unfinished / SUMMARY).write_bytes(jsonl.document(summary))
            install(unfinished, place)
    except OSError:
        if not place.exists():  # else another worker was faster, with the same result
            raise


def _write(place: Path, before: Path, now: Path) -> dict[str, Any]:
    """Write the files of differing stories. Return the summary of all stories."""
    differing: Counter[Difference] = Counter()
    other_votes = 0
    with ExitStack() as files:
        written = {
            kind: files.enter_context(open(place / f"{kind}.jsonl", "wb", buffering=1 << 20))
            for kind in Difference
        }
        for row, story in changed_rows(before, now, json.loads((now / RELEASE_JSON).read_bytes())):
            if kind := difference_in(row):
                differing[kind] += 1
                written[kind].write(jsonl.line(row | {name: story[name] for name in SHOWN}))
            elif row["votes"]:
                other_votes += 1
    sides = {"before": before, "now": now}
    return {
        "differing": {kind.value: differing[kind] for kind in Difference},
        "same_verdict_other_votes": other_votes,
        **{
            name: {path.removesuffix(".json"): json.loads((side / path).read_bytes()) for path in DOCUMENTS}
            for name, side in sides.items()
        },
    }


def _check(release: Release) -> None:
    """Raise :class:`~publishing.errors.UnusableRelease` unless the files to be read are as published."""
    for file in release.files.filter(Q(path__in=DOCUMENTS) | Q(path__endswith=".jsonl")):
        if not file.is_intact:
            told = _(
                "%(path)s of release %(number)s is missing or has changed. Restore the files of that "
                "release, then reload this page."
            ) % {"path": file.path, "number": release.number}
            raise UnusableRelease(told)
