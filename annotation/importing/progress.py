"""Report the progress of an import through the shared cache, as its transaction is still open."""

from django.core.cache import caches

KEY = "import-progress-%s"
KEPT_SECONDS = 3600


def tell_progress(story_import_id: int, read: int) -> None:
    """Store the number of stories read so far."""
    caches["shared"].set(KEY % story_import_id, read, KEPT_SECONDS)


def progress_of(story_import_id: int) -> int:
    """Return the number of stories read so far, 0 if unknown."""
    read: int = caches["shared"].get(KEY % story_import_id, 0)
    return read
