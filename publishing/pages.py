"""What the public page of a release says, read from the release's own files, which never change."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from django.core.cache import cache

from publishing.card.citing import CITATION_PATH, Citation, read_citation
from publishing.models import Release
from publishing.rendering import RenderedCard, rendered

CARD_PATH = "README.md"
Made = TypeVar("Made")


def card_of(release: Release, urls: Mapping[str, str]) -> RenderedCard | None:
    """The card as HTML; ``urls`` are the addresses of the release's files. None while its file is away."""
    return _once(
        f"card:{release.manifest_sha256}:{urls.get(CARD_PATH, '')}",
        release.directory / CARD_PATH,
        lambda written: rendered(written.decode(), urls.get),
    )


def citation_of(release: Release) -> Citation:
    """How to cite a release, as it said when it was published.

    One that is away, or has no citation file, is cited by its title.
    """
    slug = release.study.slug
    found = _once(
        f"citation:{release.manifest_sha256}",
        release.directory / CITATION_PATH,
        lambda written: read_citation(written, slug=slug),
    )
    return found or Citation(
        slug=slug,
        number=release.number,
        title=release.title,
        released=release.requested_at.date(),
        creators=((f"The study {slug}", ""),),
    )


def _once(key: str, path: Path, make: Callable[[bytes], Made]) -> Made | None:
    """What is made of a file, made once per process; None while the file is away.

    ``key`` names the release by the hash of its MANIFEST, which stands for its files.
    """
    found: Made | None = cache.get(key)
    if found is None:
        try:
            written = path.read_bytes()
        except FileNotFoundError:
            return None
        found = make(written)
        cache.set(key, found, timeout=None)
    return found
