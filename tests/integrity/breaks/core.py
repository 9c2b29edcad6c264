"""Breaking stored rows with plain SQL, past the triggers and constraints that would refuse it."""

from __future__ import annotations

from typing import Any

from django.db import connection

from annotation.models import Enrollment


def disable_triggers() -> None:
    """Take the guards against changing what is final away, until the transaction is rolled back."""
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("SELECT DISTINCT tgrelid::regclass::text FROM pg_trigger WHERE NOT tgisinternal")
        for (table,) in cursor.fetchall():
            cursor.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER")


def sql(statement: str, **values: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        assert cursor.rowcount > 0, f"nothing was broken by {statement}"


def without(table: str, constraint: str) -> None:
    """Take a constraint away, until the test's transaction is rolled back."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_constraint WHERE conname = %s", [constraint])
        if cursor.fetchone()[0]:
            cursor.execute(f"ALTER TABLE {table} DROP CONSTRAINT {constraint}")
        else:
            cursor.execute(f"DROP INDEX {constraint}")


def identity(enrollment: Enrollment, person: str) -> None:
    sql(
        "INSERT INTO accounts_platformidentity "
        "(annotator_id, platform, environment, person, language, created_at) "
        "VALUES (%(annotator)s, 'prolific', 'live', %(person)s, '', now())",
        annotator=enrollment.annotator_id,
        person=person,
    )


def forget(type: str) -> None:
    sql(
        "DELETE FROM annotation_event WHERE id = "
        "(SELECT max(id) FROM annotation_event WHERE type = %(type)s)",
        type=type,
    )
