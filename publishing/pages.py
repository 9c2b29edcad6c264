"""What the public page of a release says, read from the release's own files, which never change."""

from __future__ import annotations

from collections.abc import Mapping

from django.core.cache import cache

from publishing.card.citing import CITATION_PATH, Citation, read_citation
from publishing.models import Release
from publishing.rendering import RenderedCard, rendered

CARD_PATH = "README.md"


def card_of(release: Release, urls: Mapping[str, str]) -> RenderedCard | None:
    """The card as HTML; ``urls`` are the addresses of the release's files. None while its file is away.

    Rendered once per process: the hash of MANIFEST stands for the card, and the addresses follow from
    the release.
    """
    key = f"card:{release.manifest_sha256}:{urls.get(CARD_PATH, '')}"
    found: RenderedCard | None = cache.get(key)
    if found is None:
        try:
            card = (release.directory / CARD_PATH).read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        found = rendered(card, urls.get)
        cache.set(key, found, timeout=None)
    return found


def citation_of(release: Release) -> Citation:
    """How to cite a release, as it said when it was published.

    One that is away, or has no citation file, is cited by its title.
    """
    slug = release.study.slug
    try:
        return read_citation((release.directory / CITATION_PATH).read_bytes(), slug=slug)
    except FileNotFoundError:
        return Citation(
            slug=slug,
            number=release.number,
            title=release.study.title,
            released=release.requested_at.date(),
            creators=((f"The study {slug}", ""),),
        )
