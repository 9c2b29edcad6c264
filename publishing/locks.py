"""One builder per release: a PostgreSQL lock that dies with its session.

Session advisory locks are held by the connection, not by a transaction. The database lets go of them
when the connection ends, also when its process was killed; no row has to be cleaned up afterwards.
"""

from __future__ import annotations

from contextlib import AbstractContextManager

from annotation.locks import alone, held

LOCK_CLASS = 0x746F6D61
"""The first half of the lock's key ("toma"), so that other advisory locks are never mistaken for ours."""


def building(release_id: int) -> AbstractContextManager[bool]:
    """Whether this session is now the only builder of the release; it stays so until the block ends."""
    return alone(LOCK_CLASS, release_id)


def being_built() -> set[int]:
    """The ids of the releases that some session is building now."""
    return held(LOCK_CLASS)
