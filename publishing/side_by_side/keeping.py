"""Where comparisons of two releases are kept, and how pages come by them.

They are derived, and stand in a hidden directory beside the releases of the study: whoever deletes it loses
a minute of a worker. A comparison is named by the hashes of both releases, so it can never be out of date.
"""

from __future__ import annotations

import json
import logging
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice
from pathlib import Path
from typing import Any

import orjson
from django.conf import settings
from django.core.cache import caches
from kombu.exceptions import OperationalError

from annotation.models import Study
from publishing.models import Release
from publishing.side_by_side.walking import Kind
from tomannot.celery import app

logger = logging.getLogger(__name__)

COMPARE_TASK = "publishing.tasks.compare_releases"
FORMAT = 1
"""Of the files; another one makes every comparison anew."""
SUMMARY = "summary.json"
UNFINISHED = ".unfinished-"
PER_PAGE = 50
LONGEST = timedelta(minutes=30)
"""After so long without an outcome, the work is taken for lost and may be asked for again."""
REFUSED_FOR = timedelta(seconds=30)
"""How long a failure is shown before the next page asks again."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """A finished comparison. ``summary`` is what :mod:`publishing.side_by_side.making` writes."""

    place: Path
    summary: dict[str, Any]

    def page(self, kind: Kind, number: int) -> list[dict[str, Any]]:
        """The differing stories of a kind on a page, from 1; none beyond the last. Each costs the same."""
        pages = array("Q")
        pages.frombytes((self.place / f"{kind}.pages").read_bytes())
        if not 1 <= number <= len(pages):
            return []
        with open(self.place / f"{kind}.jsonl", "rb") as file:
            file.seek(pages[number - 1])
            return [orjson.loads(line) for line in islice(file, PER_PAGE)]

    def rows(self, kind: Kind) -> Iterator[dict[str, Any]]:
        """All of them, as a stream."""
        with open(self.place / f"{kind}.jsonl", "rb", buffering=1 << 18) as file:
            for line in file:
                yield orjson.loads(line)


def place_of(before: Release, now: Release) -> Path:
    """Where the comparison is, or will be."""
    hashes = f"{before.manifest_sha256[:24]}-{now.manifest_sha256[:24]}"
    return Path(settings.RELEASES_ROOT) / before.study.slug / ".comparisons" / f"{hashes}-{FORMAT}"


def published_pair(study: Study, first: int, second: int) -> tuple[Release, Release] | None:
    """Two different published releases of the study, the older one first; None when they are not there."""
    found = Release.objects.published().filter(study=study, number__in={first, second})
    pair = list(found.select_related("study", "withdrawal").order_by("number"))
    return (pair[0], pair[1]) if len(pair) == 2 else None


def finished(before: Release, now: Release) -> Comparison | None:
    """The comparison when a worker has made it."""
    place = place_of(before, now)
    try:
        return Comparison(place, json.loads((place / SUMMARY).read_bytes()))
    except FileNotFoundError:
        return None


def asked(before: Release, now: Release) -> tuple[Comparison | None, str]:
    """The comparison; else has a worker make it, and says why one could not (empty: it is underway)."""
    found = finished(before, now)
    if found:
        return found, ""
    key = _key(before, now)
    if not caches["shared"].add(key, "", LONGEST.total_seconds()):
        return None, caches["shared"].get(key) or ""
    try:
        app.send_task(COMPARE_TASK, args=[before.pk, now.pk])
    except OperationalError as error:
        caches["shared"].delete(key)
        logger.warning("The comparison of %s and %s could not be asked for: %s", before, now, error)
    return None, ""


def done(before: Release, now: Release, *, failure: str = "", is_lasting: bool = False) -> None:
    """Nobody is at it any more. A failure is told for a while, then whoever looks asks again.

    ``is_lasting``: it would most likely fail again at once, and take a worker's time each time.
    """
    if failure:
        told_for = LONGEST if is_lasting else REFUSED_FOR
        caches["shared"].set(_key(before, now), failure, told_for.total_seconds())
    else:
        caches["shared"].delete(_key(before, now))


def _key(before: Release, now: Release) -> str:
    return f"compared:{place_of(before, now)}"
