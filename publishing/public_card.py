"""The card and citation on a release's public page, read from its files, which never change."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from publishing.card.citation import CITATION_PATH, Citation, marked, read_citation
from publishing.card.html import RenderedCard, rendered
from publishing.models import Release
from tomannot.cache import local as cache

CARD_PATH = "README.md"
T = TypeVar("T")


def card_of(release: Release, urls: Mapping[str, str]) -> RenderedCard | None:
    """Return the card as HTML, or None if its file is missing. ``urls`` maps paths to addresses."""
    return _cached(
        f"card:{release.manifest_sha256}:{urls.get(CARD_PATH, '')}",
        lambda: release.directory / CARD_PATH,
        lambda written: rendered(written.decode(), urls.get),
    )


def citation_of(release: Release) -> Citation:
    """Return the citation of a release, as published.

    A release without a readable citation file is cited by its title.
    """
    slug = release.study.slug
    found = _cached(
        f"citation:{release.manifest_sha256}",
        lambda: release.directory / CITATION_PATH,
        lambda written: read_citation(written, slug=slug),
    )
    cited = found or Citation(
        slug=slug,
        number=release.number,
        title=release.title,
        released=release.requested_at.date(),
        creators=((f"The study {slug}", ""),),
    )
    return replace(cited, title=marked(cited.title, release.filter_name))


def _cached(key: str, path: Callable[[], Path], make: Callable[[bytes], T]) -> T | None:
    """Return what ``make`` makes of a file, cached per process; None if the file is missing.

    ``key`` contains the hash of the release's MANIFEST, which identifies its files.
    """
    found: T | None = cache.get(key)
    if found is None:
        try:
            written = path().read_bytes()
        except OSError:  # being restored, or the shared store is away
            return None
        found = make(written)
        cache.set(key, found, timeout=None)
    return found
