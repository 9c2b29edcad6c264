"""What one test run leaves for the next, and the first worker of a run for the others.

A migrated database costs ten seconds of work and the collected static files thirteen, and both are the
same until what they are made from changes. They are made once, under a name that says from what, in the
state directory of the embedded servers. A machine that starts afresh (CI) makes them afresh.
"""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.core.management import call_command
from django.db import connection, transaction
from django.test import TransactionTestCase
from psycopg.sql import SQL, Identifier, Literal

from tomannot.embedded.locks import FileLock

PROJECT = Path(__file__).resolve().parent.parent
MAKING_SECONDS = 600.0
OF_THE_DATABASE = ("*/migrations/*.py", "*/models.py", "*/models/**/*.py", "requirements/base.txt")
"""From what a migrated database follows: its tables, triggers, permissions and content types."""
OF_MIGRATE = {"django_content_type", "auth_permission"}
"""Tables that ``migrate`` fills."""
KEPT = 4
"""How many databases, and how many directories of static files: people work on several branches."""


def digest_of(files: Iterable[tuple[str, Path]]) -> str:
    """A short name for these files: another name or another byte, another digest."""
    digest = hashlib.sha256()
    for name, path in sorted(files):
        digest.update(f"{name} {path.stat().st_size}\n".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


@contextmanager
def one_at_a_time(lock_file: Path) -> Iterator[None]:
    lock = FileLock(lock_file)
    lock.wait(seconds=MAKING_SECONDS, waiting=lambda: None)
    try:
        yield
    finally:
        lock.close()


def template_database(var: Path) -> str:
    """The name of a migrated database on the embedded server of ``var``, made if there is none.

    Databases for tests are copied from it; ``migrate`` still runs on each copy.
    """
    files = (
        (str(path.relative_to(PROJECT)), path)
        for pattern in OF_THE_DATABASE
        for path in PROJECT.glob(pattern)
    )
    name = f"tomannot_template_{digest_of(files)}"
    with one_at_a_time(var / "template.lock"):
        with connection._nodb_cursor() as cursor:
            cursor.execute(
                "SELECT datname FROM pg_database WHERE datname ~ '^tomannot_template_[0-9a-f]+$' ORDER BY oid"
            )
            there = [row[0] for row in cursor.fetchall()]
        if name not in there:
            _make_template(name, drop=there[: -(KEPT - 1)])
    return name


def _make_template(name: str, *, drop: list[str]) -> None:
    """Migrate a database under another name first, so that one cut short is never taken for finished."""
    own, test = connection.settings_dict["NAME"], connection.settings_dict["TEST"]
    before = test["NAME"]
    test["NAME"] = f"{name}_unfinished"
    connection.creation.create_test_db(verbosity=0, autoclobber=True, serialize=False)
    connection.close()
    connection.close_pool()  # type: ignore[attr-defined]
    settings.DATABASES["default"]["NAME"] = connection.settings_dict["NAME"] = own
    test["NAME"] = before
    with connection._nodb_cursor() as cursor:
        cursor.execute(f"ALTER DATABASE {name}_unfinished RENAME TO {name}")
        for old in drop:
            cursor.execute(f"DROP DATABASE {old}")


def put_static_files(var: Path) -> None:
    """The static files under their final names, as pages link to them, at this run's STATIC_ROOT."""
    files = (
        (f"{getattr(storage, 'prefix', None)}/{path}", Path(storage.path(path)))
        for finder in get_finders()
        for path, storage in finder.list([])
    )
    kept = var / "static" / digest_of(files)
    kept.parent.mkdir(parents=True, exist_ok=True)
    root = Path(settings.STATIC_ROOT)
    with one_at_a_time(var / "static.lock"):
        if not kept.is_dir():
            call_command("collectstatic", interactive=False, verbosity=0)
            shutil.move(root, kept)
            oldest_first = sorted(kept.parent.iterdir(), key=lambda directory: directory.stat().st_mtime)
            for directory in oldest_first[:-KEPT]:
                shutil.rmtree(directory)
            root.symlink_to(kept)
            return
    os.utime(kept)
    root.rmdir()
    root.symlink_to(kept)


def filled_tables() -> list[str]:
    """The tables with something in them, but for those that ``migrate`` fills."""
    with connection.cursor() as cursor:
        cursor.execute(_look_into_tables())
        return [table for (table,) in cursor.fetchall()]


@functools.cache
def _look_into_tables() -> str:
    """One query for all tables; it is put together once, for every test asks it."""
    tables = [table for table in connection.introspection.django_table_names() if table not in OF_MIGRATE]
    looks = (
        SQL("SELECT {} WHERE EXISTS (SELECT FROM {})").format(Literal(table), Identifier(table))
        for table in tables
    )
    return SQL(" UNION ALL ").join(looks).as_string()


@contextmanager
def without_triggers() -> Iterator[Any]:
    """Yield a cursor that writes without foreign keys and triggers, in a transaction that has begun.

    Only a superuser may do that, as on the embedded servers.
    """
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        yield cursor
        cursor.execute("SET LOCAL session_replication_role = origin")


def empty_tables(_test_case: TransactionTestCase) -> None:
    """Clear what a test committed, and keep the content types and permissions of the database.

    Django's own way truncates every table, a third of a second for seventy empty ones with all their
    indexes, and then makes permissions anew. Deleting takes milliseconds.
    """
    with transaction.atomic(), without_triggers() as cursor:
        for table in filled_tables():
            cursor.execute(SQL("DELETE FROM {}").format(Identifier(table)))


def drop_database(test_database_name: str, verbosity: int) -> None:
    """Drop a run's database also while a session is left in it, and say whose, so that it can be mended.

    A process that a test killed may leave one: the server notices only once it is through with its query.
    """
    connection.close_pool()  # type: ignore[attr-defined]  # of the PostgreSQL backend
    with connection._nodb_cursor() as cursor:
        cursor.execute(
            "SELECT state, query FROM pg_stat_activity "
            "WHERE datname = %s AND backend_type = 'client backend'",
            [test_database_name],
        )
        for state, query in cursor.fetchall():
            sys.stderr.write(f"tests: a session is left in {test_database_name}, {state}: {query[:300]}\n")
        cursor.execute(SQL("DROP DATABASE {} WITH (FORCE)").format(Identifier(test_database_name)))
