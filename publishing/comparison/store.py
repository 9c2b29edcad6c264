"""Stored comparisons of two releases, for pages.

They are derived data in a hidden directory beside the study's releases: deleting it costs a minute of a
worker. A comparison is named by the hashes of both releases, so it is never out of date.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice
from pathlib import Path
from typing import Any

import orjson
from django.conf import settings
from django.core.cache import caches

from annotation.models import Study
from publishing.comparison.diff import Kind
from publishing.models import Release
from publishing.store import fetch
from tomannot.celery import send_once

COMPARE_TASK = "publishing.tasks.compare_releases"
FORMAT = 1
"""Version of the files; a change rebuilds every comparison."""
SUMMARY = "summary.json"
UNFINISHED = ".unfinished-"
PER_PAGE = 50
LONGEST = timedelta(minutes=30)
"""After this time without an outcome, the job is considered lost and may be requested again."""
REFUSED_FOR = timedelta(seconds=30)
"""How long a failure is shown before the page requests the comparison again."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """A finished comparison. ``summary`` is written by :mod:`publishing.comparison.build`."""

    place: Path
    summary: dict[str, Any]

    def page(self, kind: Kind, number: int) -> list[dict[str, Any]]:
        """Return a page (from 1) of differing stories of a kind; empty beyond the last."""
        start = max(number - 1, 0) * PER_PAGE
        with open(self.place / f"{kind}.jsonl", "rb", buffering=1 << 18) as file:
            return [orjson.loads(line) for line in islice(file, start, max(number, 0) * PER_PAGE)]

    def rows(self, kind: Kind) -> Iterator[dict[str, Any]]:
        """Yield all differing stories of a kind."""
        with open(self.place / f"{kind}.jsonl", "rb", buffering=1 << 18) as file:
            for line in file:
                yield orjson.loads(line)


def place_of(before: Release, now: Release) -> Path:
    """Return the directory of the comparison, which may not exist yet."""
    hashes = f"{before.manifest_sha256[:24]}-{now.manifest_sha256[:24]}"
    return Path(settings.RELEASES_ROOT) / before.study.slug / ".comparisons" / f"{hashes}-{FORMAT}"


def published_pair(study: Study, first: int, second: int) -> tuple[Release, Release] | None:
    """Return two different published releases of the study, older first; None if either is missing."""
    found = Release.objects.published().filter(study=study, number__in={first, second})
    pair = list(found.select_related("study", "withdrawal").order_by("number"))
    return (pair[0], pair[1]) if len(pair) == 2 else None


def load(before: Release, now: Release) -> Comparison | None:
    """Return the comparison if a worker has finished it."""
    place = fetch(place_of(before, now))
    try:
        return Comparison(place, json.loads((place / SUMMARY).read_bytes()))
    except FileNotFoundError:
        return None


def get_or_request(before: Release, now: Release) -> tuple[Comparison | None, str]:
    """Return the comparison; else have a worker build it, and return the failure of the last try, if any."""
    found = load(before, now)
    if found:
        return found, ""
    key = _key(before, now)
    send_once(COMPARE_TASK, before.pk, now.pk, key=key, within=LONGEST)
    return None, caches["shared"].get(key) or ""


def record_outcome(before: Release, now: Release, *, failure: str = "", is_lasting: bool = False) -> None:
    """Record that the job has ended.

    A failure is shown for a while; then the page requests the comparison again.

    ``is_lasting`` failures are shown longer, because they would probably recur at once and cost worker time.
    """
    if failure:
        told_for = LONGEST if is_lasting else REFUSED_FOR
        caches["shared"].set(_key(before, now), failure, told_for.total_seconds())
    else:
        caches["shared"].delete(_key(before, now))


def _key(before: Release, now: Release) -> str:
    return f"compared:{place_of(before, now)}"
