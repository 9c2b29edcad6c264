"""How far a worker has come with a file: told in the shared cache, since its transaction is still open."""

from __future__ import annotations

from django.core.cache import caches

KEPT_SECONDS = 3600


def tell_progress(story_import_id: int, read: int) -> None:
    """Say that so many stories of the file have been read."""
    caches["shared"].set(_key(story_import_id), read, KEPT_SECONDS)


def progress_of(story_import_id: int) -> int:
    """How many stories of the file have been read, as far as is known."""
    read: int = caches["shared"].get(_key(story_import_id), 0)
    return read


def _key(story_import_id: int) -> str:
    return f"import-progress-{story_import_id}"
