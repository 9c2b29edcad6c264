"""Worlds that one test builds and every further test of the run gets back by copying their rows."""

from __future__ import annotations

import atexit
import copy
import functools
import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

from django.conf import settings
from django.core.cache import caches
from django.db import connection, transaction
from psycopg.sql import SQL, Identifier

from tests.kept import filled_tables, without_triggers

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True)
class _World:
    value: Any
    """What the builder returned; each test gets a copy."""
    rows: dict[str, bytes]
    """By table, as ``COPY`` writes them."""
    releases: Path | None
    """A copy of the releases that it published, if any."""


_worlds: dict[str, _World] = {}
BYSTANDERS = ("accounts_user", "django_session")
"""Tables of researchers who are signed in, which no world without researchers is about."""
_ROOTS = ("accounts_annotator", "annotation_study")
"""Tables that have rows whenever any other table of a world does."""


def built_once(build: Callable[P, T]) -> Callable[P, T]:
    """Run the function where it is needed first, and from then on copy what it wrote.

    What it makes must follow from its arguments alone, and ``repr`` must tell these apart. It runs as if it
    were not decorated where the database holds more than :data:`BYSTANDERS`, or the directory of releases is
    not empty, and on a server where the tests may not switch triggers off.
    """

    @functools.wraps(build)
    def built(*args: P.args, **kwargs: P.kwargs) -> T:
        root = Path(settings.RELEASES_ROOT)
        if "TEST_DATABASE_NAME" not in os.environ or _filled(*_ROOTS) or _has_files(root):
            return build(*args, **kwargs)
        before = _filled(*BYSTANDERS)
        key = f"{build.__module__}.{build.__qualname__}{args}{sorted(kwargs.items())}"
        world = _worlds.get(key)
        if world is None:
            there = {table: _rows_of(table) for table in before}
            value = build(*args, **kwargs)
            if any(_rows_of(table) != rows for table, rows in there.items()):
                return value  # more than can be told from what was there
            rows = {table: _rows_of(table) for table in filled_tables() if table not in before}
            _worlds[key] = _World(copy.deepcopy(value), rows, _copy_of(root) if _has_files(root) else None)
            return value
        if before & world.rows.keys():
            return build(*args, **kwargs)
        _put_back(world)
        if world.releases:
            shutil.copytree(world.releases, root, dirs_exist_ok=True)
        return cast(T, copy.deepcopy(world.value))

    return built


def _filled(*tables: str) -> set[str]:
    """Look at few tables: a look at all of them is milliseconds of work, for each world of each test."""
    looks = (SQL("EXISTS (SELECT FROM {})").format(Identifier(table)) for table in tables)
    with connection.cursor() as cursor:
        cursor.execute(SQL("SELECT {}").format(SQL(", ").join(looks)))
        return {table for table, has_rows in zip(tables, cursor.fetchone(), strict=True) if has_rows}


def _has_files(root: Path) -> bool:
    return root.is_dir() and any(root.iterdir())


def _copy_of(root: Path) -> Path:
    kept = Path(tempfile.mkdtemp(prefix="tomannot-world-"))
    atexit.register(shutil.rmtree, kept)
    return shutil.copytree(root, kept, dirs_exist_ok=True)


def _rows_of(table: str) -> bytes:
    copying = SQL("COPY {} TO STDOUT (FORMAT binary)").format(Identifier(table))
    with connection.cursor() as cursor, cursor.copy(copying) as rows:
        return b"".join(bytes(part) for part in rows)


def _put_back(world: _World) -> None:
    """Copy the rows, with ids that other tests have had: nothing kept about those is believed."""
    with transaction.atomic(), without_triggers() as cursor:
        for table, data in world.rows.items():
            with cursor.copy(SQL("COPY {} FROM STDIN (FORMAT binary)").format(Identifier(table))) as rows:
                rows.write(data)
    for cache in caches.all(initialized_only=True):
        cache.clear()
