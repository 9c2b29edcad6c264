"""Directories of earlier releases that a new one is built on. Reads only."""

from pathlib import Path

from django.db.models import Q

from publishing.errors import BrokenDirectory
from publishing.files.directory import MANIFEST
from publishing.files.rows import RELEASE_JSON
from publishing.human_baseline.release_files import Baseline
from publishing.models import Release


def directory_before(release: Release) -> Path | None:
    """Return the directory of the previous release; None for the first one or if its files are missing.

    Raise :class:`~publishing.errors.BrokenDirectory` if a file needed for the comparison was changed.
    """
    before = Release.objects.published().filter(study=release.study_id, number__lt=release.number)
    return _intact(before.select_related("study").order_by("-number").first())


def baseline_of(release: Release) -> Baseline | None:
    """Return the newest release of people's answers to questions of this study, as of the request.

    Raise :class:`~publishing.errors.BrokenDirectory` if its files were changed.
    """
    asked = release.requested_at
    published = Release.objects.published().filter(
        study__baseline_sample__release__study=release.study_id,
        environment=release.environment,
        published_at__lte=asked,
    )
    standing = published.exclude(withdrawal__withdrawn_at__lte=asked).select_related("study__baseline_sample")
    found = standing.order_by("-published_at").first()
    if found is None or (place := _intact(found)) is None:
        return None
    return Baseline(place, found.study.baseline_sample.provenance())


def _intact(found: Release | None) -> Path | None:
    """Return the directory of a release, or None if there is none or its files are missing.

    Raise :class:`~publishing.errors.BrokenDirectory` if a file that is read again was changed.
    """
    if found is None or not (found.directory / MANIFEST).is_file():
        return None
    for file in found.files.filter(Q(path=RELEASE_JSON) | Q(path__endswith=".jsonl")):
        if not file.is_intact:
            raise BrokenDirectory(
                f"{found.directory / file.path} is not as it was published, so the new release cannot "
                "build on it. Restore the files of that release, or move its directory away, and "
                "request the release again."
            )
    return found.directory
