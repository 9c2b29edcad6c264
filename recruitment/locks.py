"""One worker per campaign and kind of work: PostgreSQL locks that die with their session.

They are held by the connection, not by a transaction, so they hold for however long a platform takes, and
the database lets go of them when the worker is killed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection

PUT_UP = 0x746F6D65
"""The first half of the lock's key ("tome"); the second is the campaign's id."""
RECONCILE = 0x746F6D66
"""The first half of the lock's key ("tomf"); the second is the campaign's id."""
SEND = 0x746F6D67
"""The first half of the lock's key ("tomg"); the second is the campaign's id."""


@contextmanager
def alone(lock_class: int, campaign_id: int) -> Iterator[bool]:
    """Whether this session is now the only one at it; it stays so until the block ends."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s, %s)", [lock_class, campaign_id])
        acquired = bool(cursor.fetchone()[0])
    try:
        yield acquired
    finally:
        if acquired and connection.is_usable():  # an unusable session has lost its locks already
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(%s, %s)", [lock_class, campaign_id])
