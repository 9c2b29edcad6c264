"""Take PostgreSQL's advisory locks, which exclude others without locking a row.

Changing and publishing answers: one lock per study until the transaction ends. Changes share it, so
annotators never wait for one another; a freeze holds it alone.

Importing: one lock per import, so that one worker works on it, and one per study, so that one file is
imported at a time. The session holds both: the database releases them when the connection ends, even if
its process was killed. The study's row stays free, so that a study can be paused during a long import.
Building releases: one lock per release, which the builder's session holds.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from django.core.exceptions import ImproperlyConfigured
from django.db import connection
from django.utils.translation import gettext as _

from annotation.errors import WrongState

RELEASE, ANSWERS, IMPORT, FILES = 0x746F6D61, 0x746F6D62, 0x746F6D63, 0x746F6D64
"""First halves of the locks' keys ("toma" and so on). The second is the id of the release that is being
built, of the import, and of the study for :data:`ANSWERS` and :data:`FILES`."""
NOTICED_WITHIN = timedelta(seconds=2)
"""The time after which the database ends a session whose process is gone, even during a statement."""


def share_answers(study_id: int) -> None:
    """Wait for a running freeze of the study's answers; no other starts before this transaction ends."""
    _ask("SELECT pg_advisory_xact_lock_shared(%s, %s)", ANSWERS, study_id)


def hold_answers(study_id: int) -> None:
    """Wait for running changes of answers; no other starts before this transaction ends."""
    _ask("SELECT pg_advisory_xact_lock(%s, %s)", ANSWERS, study_id)


@contextmanager
def alone(lock_class: int, number: int) -> Iterator[bool]:
    """Try to take the lock ``(lock_class, number)`` until the block ends. Yield whether it succeeded.

    ``lock_class`` separates the locks of different kinds of work. A session whose process was killed
    releases its locks within :data:`NOTICED_WITHIN`: by default the database would first finish the current
    statement, however long that takes. Raise ``ImproperlyConfigured`` outside a transaction behind a pooler,
    which would give the next statement another session.
    """
    if connection.settings_dict.get("DISABLE_SERVER_SIDE_CURSORS") and not connection.in_atomic_block:
        raise ImproperlyConfigured(
            "Workers and commands need the DATABASE_URL of PostgreSQL, not a pooler's."
        )
    with connection.cursor() as cursor:
        interval = f"{NOTICED_WITHIN.total_seconds():.0f}s"
        cursor.execute("SELECT set_config('client_connection_check_interval', %s, false)", [interval])
    acquired = bool(_ask("SELECT pg_try_advisory_lock(%s, %s)", lock_class, number))
    try:
        yield acquired
    finally:
        if acquired:
            _unlock(lock_class, number)


def held(lock_class: int) -> set[int]:
    """Return the numbers that sessions hold locks of this class for."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT objid::bigint FROM pg_locks WHERE locktype = 'advisory' AND granted AND classid = %s "
            "AND database = (SELECT oid FROM pg_database WHERE datname = current_database())",
            [lock_class],
        )
        return {row[0] for row in cursor.fetchall()}


@contextmanager
def one_file(study_id: int) -> Iterator[None]:
    """Import one file into the study at a time: wait for another, and keep later ones waiting.

    Inside a transaction never wait, because the other import may wait for a row that it has locked: raise
    :class:`WrongState` instead.
    """
    if not connection.in_atomic_block:
        _ask("SELECT pg_advisory_lock(%s, %s)", FILES, study_id)
    elif not _ask("SELECT pg_try_advisory_lock(%s, %s)", FILES, study_id):
        raise WrongState(_("An import is running. Try again when it has finished."))
    try:
        yield
    finally:
        _unlock(FILES, study_id)


def _unlock(lock_class: int, number: int) -> None:
    if connection.is_usable():  # an unusable session has lost its locks already
        _ask("SELECT pg_advisory_unlock(%s, %s)", lock_class, number)


def _ask(query: str, lock_class: int, number: int) -> object:
    with connection.cursor() as cursor:
        cursor.execute(query, [lock_class, number])
        return cursor.fetchone()[0]
