"""Restore what an earlier version kept, and compare databases."""

from __future__ import annotations

import re
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings
from django.contrib.contenttypes.models import ContentType
from django.db import connection

from tests.upgrades.make import DUMP, HERE

SCHEMA = {
    "columns": """
        SELECT table_name || '.' || column_name, data_type, character_maximum_length, is_nullable,
               column_default, generation_expression, is_identity, collation_name
        FROM information_schema.columns WHERE table_schema = 'public'""",
    "constraints": """
        SELECT conrelid::regclass::text || '.' || conname, pg_get_constraintdef(oid), convalidated
        FROM pg_constraint WHERE connamespace = 'public'::regnamespace AND contype <> 'n'""",
    "indexes": "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'",
    "triggers": """
        SELECT tgrelid::regclass::text || '.' || tgname, pg_get_triggerdef(oid)
        FROM pg_trigger WHERE NOT tgisinternal""",
    "functions": """
        SELECT proname, prosrc FROM pg_proc WHERE pronamespace = 'public'::regnamespace AND probin IS NULL""",
}
"""Queries for the parts of a database, each by its name."""
UNSTABLE = re.compile(r"::(?:character varying|text)(?:\[\])?|[()\s]")


def archives() -> list[Path]:
    return sorted(HERE.glob("*.tar.xz"))


def sql_of(archive: Path) -> str:
    with tarfile.open(archive) as packed:
        file = packed.extractfile(DUMP)
        assert file is not None
        return file.read().decode()


def applied_migrations(archive: Path) -> set[tuple[str, str]]:
    """Return the migrations that the version had, as ``(app, name)``."""
    (rows,) = re.findall(
        r"INSERT INTO public\.django_migrations VALUES\n(.+?);\n", sql_of(archive), re.DOTALL
    )
    return set(re.findall(r"\(\d+, '(\w+)', '(\w+)', ", rows))


def restore(archive: Path, releases: Path) -> None:
    """Restore the database into an empty one, and the releases to a directory that does not exist yet."""
    with connection.cursor() as cursor:
        cursor.execute(sql_of(archive))
    connection.close()  # the dump's settings go with it
    with tarfile.open(archive) as packed:
        packed.extractall(releases.parent, filter="data")
    (releases.parent / "releases").rename(releases)


@contextmanager
def database(name: str) -> Iterator[None]:
    """Connect this process to a new, empty database, and drop it in the end."""
    own = connection.settings_dict["NAME"]
    with connection._nodb_cursor() as cursor:
        cursor.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
        cursor.execute(f'CREATE DATABASE "{name}" TEMPLATE template0')
    _connect_to(name)
    try:
        yield
    finally:
        _connect_to(own)
        with connection._nodb_cursor() as cursor:
            cursor.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


def _connect_to(name: str) -> None:
    connection.close()
    connection.close_pool()  # type: ignore[attr-defined]  # of the PostgreSQL backend
    settings.DATABASES["default"]["NAME"] = connection.settings_dict["NAME"] = name
    ContentType.objects.clear_cache()


def schema() -> dict[str, set[tuple[str, ...]]]:
    """Return the columns, constraints, indexes, triggers and functions of the database.

    Without casts and brackets, which PostgreSQL writes otherwise after a restore.
    """
    found = {}
    with connection.cursor() as cursor:
        for part, query in SCHEMA.items():
            cursor.execute(query)
            found[part] = {tuple(UNSTABLE.sub("", str(value)) for value in row) for row in cursor.fetchall()}
    return found
