"""Advisory locks of PostgreSQL: who keeps out of whose way without holding a row.

Changing answers and publishing them: a lock per study, held until the end of the transaction. Changes
share it, so people never wait for one another; a freeze holds it alone.

Importing: a lock per import, so that one worker works on it, and a lock per study, so that one file
comes in at a time. Both are held by the session: the database lets go of them when the connection
ends, also when its process was killed. The study's own row stays free, so that a study can be paused
while a long file comes in.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import timedelta

from django.db import connection
from django.utils.translation import gettext as _

from annotation.errors import WrongState

ANSWERS = 0x746F6D62
"""The first half of the lock's key ("tomb"); the second is the study's id."""
IMPORT = 0x746F6D63
"""The first half of the lock's key ("tomc"); the second is the import's id."""
FILES = 0x746F6D64
"""The first half of the lock's key ("tomd"); the second is the study's id."""
NOTICED_WITHIN = timedelta(seconds=2)
"""After how long the database ends a session whose process is gone, in the middle of a statement too."""


def share_answers(study_id: int) -> None:
    """Wait for a freeze of the study's answers to end; none begins before this transaction ends."""
    _ask("SELECT pg_advisory_xact_lock_shared(%s, %s)", ANSWERS, study_id)


def hold_answers(study_id: int) -> None:
    """Wait for the changes of answers that are being made; none begins before this transaction ends."""
    _ask("SELECT pg_advisory_xact_lock(%s, %s)", ANSWERS, study_id)


@contextmanager
def alone(lock_class: int, number: int) -> Iterator[bool]:
    """Whether this session is now the only one at this row's work; it stays so until the block ends.

    ``lock_class`` says what work, so that the locks of all rooms are never mistaken for one another. A
    session whose process was killed lets go within :data:`NOTICED_WITHIN`: without being asked to look, the
    database would first finish the statement it is at, however long that takes.
    """
    with connection.cursor() as cursor:
        interval = f"{NOTICED_WITHIN.total_seconds():.0f}s"
        cursor.execute("SELECT set_config('client_connection_check_interval', %s, false)", [interval])
    acquired = bool(_ask("SELECT pg_try_advisory_lock(%s, %s)", lock_class, number))
    try:
        yield acquired
    finally:
        if acquired:
            _let_go(lock_class, number)


def held(lock_class: int) -> set[int]:
    """The numbers of the rows at whose work some session is alone, or waits to be."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT objid::bigint FROM pg_locks WHERE locktype = 'advisory' AND granted AND classid = %s "
            "AND database = (SELECT oid FROM pg_database WHERE datname = current_database())",
            [lock_class],
        )
        return {row[0] for row in cursor.fetchall()}


def importing(story_import_id: int) -> AbstractContextManager[bool]:
    """Whether this session is now the only one at this import; it stays so until the block ends."""
    return alone(IMPORT, story_import_id)


@contextmanager
def one_file(study_id: int) -> Iterator[None]:
    """Wait until no other file is coming into the study; none begins before the block ends.

    Within a transaction nobody waits, since the file may wait for what the transaction has locked: then
    another file raises :class:`WrongState`.
    """
    if not connection.in_atomic_block:
        _ask("SELECT pg_advisory_lock(%s, %s)", FILES, study_id)
    elif not _ask("SELECT pg_try_advisory_lock(%s, %s)", FILES, study_id):
        raise WrongState(_("A file is coming into the study. Try again once it is in."))
    try:
        yield
    finally:
        _let_go(FILES, study_id)


def being_imported() -> set[int]:
    """The ids of the imports that some session is at, or for which it waits for another file to be in."""
    return held(IMPORT)


def _let_go(lock_class: int, number: int) -> None:
    if connection.is_usable():  # an unusable session has lost its locks already
        _ask("SELECT pg_advisory_unlock(%s, %s)", lock_class, number)


def _ask(query: str, lock_class: int, number: int) -> object:
    with connection.cursor() as cursor:
        cursor.execute(query, [lock_class, number])
        return cursor.fetchone()[0]
