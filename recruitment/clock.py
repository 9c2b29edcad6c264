"""The time by which workers take turns."""

from __future__ import annotations

from datetime import datetime

from django.db import connection


def database_now() -> datetime:
    """What the database's clock says: one clock for all workers, whatever those of their machines say."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        (now,) = cursor.fetchone()
    assert isinstance(now, datetime)
    return now
