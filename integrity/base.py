"""Define and run checks: queries for stored rows that break an invariant."""

import functools
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from django.db import connection, transaction
from django.db.models import QuerySet

from accounts.schema import Row

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
"""A function that looks for offenders in one study (by id), or in all studies for None."""


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
class CheckOutcome:
    check: Check
    offenders: Offenders

    @property
    def holds(self) -> bool:
        return self.offenders.count == 0


def run(checks: Iterable[Check], *, study_id: int | None = None) -> Iterator[CheckOutcome]:
    """Run the checks one by one, each in its own transaction, without writing anything."""
    for check in checks:
        with transaction.atomic():
            yield CheckOutcome(check, check.find(study_id))


_QUERY = re.compile(r"-- (\w+)(?: \((\d+)\))?\n((?:-- .+\n)+)([^-][\s\S]+);")


def read_queries(topic: str) -> Iterator[tuple[str, int, str, str]]:
    """Read ``integrity/sql/TOPIC.sql``: a comment on the file, then queries, separated by empty lines.

    Yield each query's name, the number of its invariant, and a sentence about the rows it finds, from the
    comment above it, and its SQL. Raise :class:`ValueError` for anything else.
    """
    text = (Path(__file__).parent / "sql" / f"{topic}.sql").read_text(encoding="utf-8")
    for paragraph in text.strip().split("\n\n")[1:]:
        found = _QUERY.fullmatch(paragraph)
        if found is None:
            raise ValueError(f"Not a named query, in {topic}.sql:\n{paragraph}")
        name, invariant, comment, sql = found.groups()
        sentence = comment.removeprefix("-- ").replace("\n-- ", " ").strip()
        yield name, int(invariant or 0), sentence, sql


def read_checks(topic: str, within: str = "{}") -> list[Check]:
    """Make a check of each query in ``integrity/sql/TOPIC.sql``, placed ``within`` another one if given."""
    queries = read_queries(topic)
    return [Check(name, number, says, by_sql(within.format(sql))) for name, number, says, sql in queries]


@functools.cache
def _views() -> str:
    """Return what checks may select from besides tables, as a list for SQL's WITH."""
    return ", ".join(f"{name} AS NOT MATERIALIZED ({sql})" for name, *_, sql in read_queries("views"))


def by_sql(query: str) -> Find:
    """Make a check of one query whose rows, ``study_id`` and ``row``, are the offenders."""
    broken = f"WITH {_views()}, broken AS ({query})".replace("%", "%%")
    sql = (
        f"{broken} "  # noqa: S608 - constants of this package
        "SELECT row, count(*) OVER () FROM (SELECT DISTINCT study_id, row FROM broken) one "
        "WHERE %(study)s::bigint IS NULL OR study_id = %(study)s ORDER BY row LIMIT %(shown)s"
    )

    def find(study_id: int | None) -> Offenders:
        with connection.cursor() as cursor:
            cursor.execute(sql, {"study": study_id, "shown": SHOWN})
            rows = cursor.fetchall()
        return Offenders(rows[0][1] if rows else 0, tuple(str(row) for row, _ in rows))

    return find


Walk = Callable[[int | None], Iterator[object]]
"""A generator of the offending rows of one study (by id), or of all studies for None."""


def by_walking(invariant: int) -> Callable[[Walk], Check]:
    """Make a check of a generator, for rules that SQL alone cannot decide.

    As with the queries, its name and its docstring are those of the check.
    """

    def check(walk: Walk) -> Check:
        def find(study_id: int | None) -> Offenders:
            rows = walk(study_id)
            first = tuple(map(str, islice(rows, SHOWN)))
            return Offenders(len(first) + sum(1 for _ in rows), first)

        return Check(walk.__name__, invariant, " ".join((walk.__doc__ or "").split()), find)

    return check


def of_study(rows: QuerySet[Row], study_id: int | None, *, at: str = "study") -> QuerySet[Row]:
    """Narrow the rows to those of one study, whose id they have ``at`` this field; None: all."""
    return rows.filter(**{at: study_id}) if study_id else rows


def stream(query: str, study_id: int | None) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a query of ``sql/streams.sql``, in bounded memory. Needs a transaction.

    JSON columns come as text.
    """
    queries = {name: sql for name, *_, sql in read_queries("streams")}
    with connection.chunked_cursor() as cursor:
        cursor.execute(queries[query], {"study": study_id})
        while rows := cursor.fetchmany(CHUNK):
            yield from rows
