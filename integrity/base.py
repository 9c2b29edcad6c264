"""Define and run checks: queries for stored rows that break an invariant."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from django.db import connection, transaction

SHOWN = 20
"""Offending rows listed per check; all of them are counted."""

CHUNK = 2000
"""Rows fetched at a time by checks that stream."""


@dataclass(frozen=True, slots=True)
class Offenders:
    """The number of rows that break an invariant, and the ids of the first of them."""

    count: int
    rows: tuple[str, ...]


Find = Callable[[int | None], Offenders]
"""Looks for offenders in one study (by id), or in all studies for None."""


@dataclass(frozen=True, slots=True)
class Check:
    """One invariant that must hold in the stored rows.

    ``name`` states the rule, ``sentence`` describes the rows that ``find`` finds, and ``invariant`` is the
    number of the promise in the documentation.
    """

    name: str
    invariant: int
    sentence: str
    find: Find


@dataclass(frozen=True, slots=True)
class CheckResult:
    check: Check
    offenders: Offenders

    @property
    def holds(self) -> bool:
        return self.offenders.count == 0


def run(checks: Iterable[Check], *, study_id: int | None = None) -> Iterator[CheckResult]:
    """Run the checks one by one, each in its own transaction, without writing anything."""
    for check in checks:
        with transaction.atomic():
            yield CheckResult(check, check.find(study_id))


VIEWS = {
    "assignments": """
        SELECT a.*, s.study_id, s.role, s.content_hash, st.votes_per_story, st.story_cap,
               st.protocol_version AS study_protocol, st.environment AS study_environment,
               e.study_id AS enrolled_in, e.annotator_id, e.environment AS enrolled_environment
        FROM annotation_assignment a
        JOIN annotation_story s ON s.id = a.story_id
        JOIN annotation_study st ON st.id = s.study_id
        JOIN annotation_enrollment e ON e.id = a.enrollment_id""",
    "votes": """
        SELECT v.*, a.state, a.story_id, a.enrollment_id, a.study_id, a.role, a.content_hash,
               a.votes_per_story, a.study_protocol, a.study_environment, a.annotator_id
        FROM annotation_vote v JOIN assignments a ON a.id = v.assignment_id""",
    "changes": """
        SELECT newer.*, older.id AS older_id, older.environment AS older_environment,
               older.surplus_reason AS older_reason, older.submitted_at AS older_submitted_at,
               older.first_submitted_at AS older_first_submitted_at
        FROM votes newer JOIN annotation_vote older
            ON older.assignment_id = newer.assignment_id AND older.revision = newer.revision - 1""",
}
"""What checks may select from besides tables: rows with their study and what they are compared with."""


def by_sql(query: str, **views: str) -> Find:
    """Make a check of one query whose rows, ``study_id`` and ``row``, are the offenders.

    The query may select from :data:`VIEWS` and the named ``views``.
    """
    named = [f"{name} AS NOT MATERIALIZED ({view})" for name, view in (VIEWS | views).items()]
    sql = (
        f"WITH {', '.join(named)}, broken AS ({query}) "  # noqa: S608 - constants of this package
        "SELECT row, count(*) OVER () FROM (SELECT DISTINCT study_id, row FROM broken) one "
        "WHERE %(study)s::bigint IS NULL OR study_id = %(study)s ORDER BY row LIMIT %(shown)s"
    )

    def find(study_id: int | None) -> Offenders:
        with connection.cursor() as cursor:
            cursor.execute(sql, {"study": study_id, "shown": SHOWN})
            rows = cursor.fetchall()
        return Offenders(rows[0][1] if rows else 0, tuple(str(row) for row, _ in rows))

    return find


def where(table: str, condition: str, *, study: str = "study_id", row: str = "id", **views: str) -> Find:
    """Make a check for rows of ``table`` for which ``condition`` is true. The arguments are SQL."""
    return by_sql(
        f"SELECT {study} AS study_id, {row} AS row FROM {table} WHERE {condition}",  # noqa: S608 - constants
        **views,
    )


def by_walking(rows: Callable[[int | None], Iterable[object]]) -> Find:
    """Make a check of a generator of offending rows, for rules that SQL alone cannot decide."""

    def find(study_id: int | None) -> Offenders:
        count = 0
        first: list[str] = []
        for row in rows(study_id):
            count += 1
            if len(first) < SHOWN:
                first.append(str(row))
        return Offenders(count, tuple(first))

    return find


def stream(query: str, study_id: int | None) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a query with a parameter ``study``, in bounded memory. Needs a transaction.

    JSON columns come as text.
    """
    with connection.chunked_cursor() as cursor:
        cursor.execute(query, {"study": study_id})
        while rows := cursor.fetchmany(CHUNK):
            yield from rows


def in_the_log(
    name: str,
    sentence: str,
    table: str,
    subject: str,
    types: str,
    *,
    study: str = "s.study_id",
    row: str = "x.id",
    also: str = "true",
) -> Check:
    """Make the check that rows of ``table`` (alias ``x``) have an event of these types about ``subject``.

    The arguments are SQL; ``also`` is one more condition on the event, ``ev``.
    """
    event = f"ev.study_id = {study} AND ev.type IN ({types}) AND ev.subject = {subject} AND {also}"
    missing = f"NOT EXISTS (SELECT FROM annotation_event ev WHERE {event})"
    return Check(name, 10, sentence, where(table, missing, study=study, row=row))
