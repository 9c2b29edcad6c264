"""One clock for all processes: the database's.

Leases end at a moment, and several machines compare it with theirs. A machine whose own clock is wrong, or is
set while it works, would end the leases of others.
"""

import time
from datetime import datetime, timedelta

from django.db import connection
from django.utils import timezone

ASK_AGAIN_SECONDS = 60.0
"""The database is asked so often; in between its time goes on with the machine's monotonic clock."""

_known: tuple[datetime, float] | None = None
"""The database's time when it was last asked, and the monotonic clock then."""


def now() -> datetime:
    """Return the database's time. Raise ``django.db.OperationalError`` when it does not answer."""
    global _known
    began = time.monotonic()
    if _known is None or began - _known[1] > ASK_AGAIN_SECONDS:
        _known = _ask(), (began + time.monotonic()) / 2  # answered in the middle of the round trip
    moment, ticks = _known
    return moment + timedelta(seconds=time.monotonic() - ticks)


def skew() -> timedelta:
    """Return by how much this machine's clock is ahead of the database's, to within a round trip."""
    return timezone.now() - _ask()


def _ask() -> datetime:
    """Ask on the bare connection: no query of a page, and no part of its transaction."""
    connection.ensure_connection()
    with connection.wrap_database_errors, connection.connection.cursor() as cursor:
        moment: datetime = cursor.execute("SELECT clock_timestamp()").fetchone()[0]
    return moment
