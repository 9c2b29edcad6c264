"""A PostgreSQL lock that allows one builder per release.

Session advisory locks belong to the connection, not to a transaction. The database releases them when the
connection ends, even if its process was killed, so no row has to be cleaned up.
"""

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
