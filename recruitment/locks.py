"""PostgreSQL locks that die with their session: one worker per campaign and kind of work.

They are held by the connection, not by a transaction, so they hold for however long a platform takes, and
the database lets go of them when the worker is killed.
"""

from datetime import datetime

from django.db import connection

PUBLISH = 0x746F6D65
"""The first half of the lock's key ("tome"); the second is the campaign's id."""
RECONCILE = 0x746F6D66
"""The first half of the lock's key ("tomf"); the second is the campaign's id."""
SEND = 0x746F6D67
"""The first half of the lock's key ("tomg"); the second is the campaign's id."""


def database_now() -> datetime:
    """Return the database's time: one clock for all workers, whatever their machines say."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        (now,) = cursor.fetchone()
    assert isinstance(now, datetime)
    return now
