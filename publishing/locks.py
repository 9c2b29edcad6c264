"""A session advisory lock for one builder per release, released even when its process is killed."""

from contextlib import AbstractContextManager

from annotation.locks import alone, held

LOCK_CLASS = 0x746F6D61
"""First half of the lock's key ("toma"), which sets it apart from other advisory locks."""


def building(release_id: int) -> AbstractContextManager[bool]:
    """Try to become the only builder of the release until the block ends; True on success."""
    return alone(LOCK_CLASS, release_id)


def being_built() -> set[int]:
    """Return the ids of releases that are being built now."""
    return held(LOCK_CLASS)
