"""Multiply the rows of a beginning to a full study, by ``COPY`` and ``INSERT ... SELECT``."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
import psycopg
from psycopg import sql

from annotation.protocols.validity.lint import LABELS_OF_CODES
from annotation.rules import pseudonym
from bench.filled.beginning import DAYS, RELEASES
from bench.world import fill_up, settle
from publishing.comparison import store
from publishing.comparison.changes import Difference
from publishing.models import Release
from recruitment.join_links import own_source

PARTS = ("people", "votes", "visits", "money", "reviews", "releases")
VOTES_EACH = 500
"""Most votes of one annotator on main stories; it decides their number."""
FEWEST_PEOPLE = 30
PASS = 0.19
"""Share of those who passed the test; 19 of 100 in the published procedure."""
WITHOUT_VOTES = 100
"""One story in this many has not been given to anybody yet."""
SHOWN = 16
"""Tables whose number of rows the report shows."""
ROWS = {
    "annotators": "accounts_annotator",
    "enrollments": "annotation_enrollment",
    "attempts": "qualification_attempt",
    "assignments": "annotation_assignment",
    "votes": "annotation_vote",
    "exclusions": "annotation_voteexclusion",
    "samples": "annotation_reviewsample",
    "items": "annotation_reviewitem",
    "spot_checks": "annotation_spotcheck",
    "adjudications": "annotation_adjudication",
    "sessions": "annotation_worksession",
    "visit_rows": "recruitment_visit",
    "submissions": "recruitment_submission",
    "payments": "recruitment_payment",
    "mismatches": "recruitment_mismatch",
    "stories": "annotation_story",
}
"""Tables by the name under which the SQL knows the id after which their new rows begin."""


def fill(url: str, *, stories: int, now: datetime) -> dict[str, int]:
    """Fill the only study of a database up to so many main stories, with all that came of them until now.

    Checks of foreign keys and triggers are off meanwhile; other constraints hold. ``manage.py
    check_integrity`` finds nothing but stand-ins for the stories' hashes. Returns the number of rows of the
    largest tables.
    """
    with psycopg.connect(url, cursor_factory=psycopg.ClientCursor) as connection:
        values = _values(connection, stories=stories, now=now)
    fill_up(url, stories=stories, free=False)
    with psycopg.connect(url, cursor_factory=psycopg.ClientCursor) as connection:
        connection.execute("SET LOCAL session_replication_role = replica; SET LOCAL work_mem = '256MB'")
        for part in PARTS:
            text = Path(__file__).with_name(f"{part}.sql").read_text(encoding="utf-8")
            connection.execute(text.encode(), values)
        for table in (*ROWS.values(), "publishing_release"):
            last = sql.SQL("SELECT coalesce(max(id), 1) FROM {}").format(sql.Identifier(table))
            sequence = sql.SQL("pg_get_serial_sequence({}, 'id')").format(sql.Literal(table))
            connection.execute(sql.SQL("SELECT setval({}, ({}))").format(sequence, last))
    settle(url)
    return _largest(url)


def _largest(url: str) -> dict[str, int]:
    with psycopg.connect(url) as connection:
        found = connection.execute(
            "SELECT relname, reltuples::bigint FROM pg_class "
            "WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace ORDER BY 2 DESC LIMIT %s",
            (SHOWN,),
        ).fetchall()
    return dict(found)


def _values(connection: psycopg.Connection[Any], *, stories: int, now: datetime) -> dict[str, Any]:
    """Return the parameters of the SQL files: numbers, times, and existing ids."""

    def one(query: str) -> Any:
        row = connection.execute(query).fetchone()
        assert row is not None
        return row[0]

    def every(query: str) -> Any:
        return one(f"SELECT array_agg(id ORDER BY place) FROM ({query}) AS found(id, place)")  # noqa: S608

    study = one("SELECT id FROM annotation_study")
    there = one("SELECT count(*) FROM annotation_story WHERE role = 'main'")
    voted = stories - there - stories // WITHOUT_VOTES
    people = max(FEWEST_PEOPLE, -(-3 * voted // VOTES_EACH))
    tried = round(people / PASS)
    invited = tried + tried // 5
    began = now - timedelta(days=DAYS)
    last_ids = {name: one(f"SELECT coalesce(max(id), 0) FROM {table}") for name, table in ROWS.items()}  # noqa: S608
    key = one("SELECT pseudonym_key FROM annotation_study")
    return {
        "study": study,
        "now": now,
        "began": began,
        "start": began + timedelta(days=21),
        "people": people,
        "tried": tried,
        "agreed": tried + tried // 10,
        "invited": invited,
        "pseudonyms": [pseudonym(key, last_ids["annotators"] + n) for n in range(1, invited + 1)],
        "voted": voted,
        "visits": (3 * ((voted + 3) // people) + 2) // 9 + 1,
        "releases": RELEASES,
        "codes": list(LABELS_OF_CODES),
        "source": own_source(study),
        "owner": one("SELECT min(id) FROM accounts_user"),
        "consent": one("SELECT id FROM annotation_consenttext"),
        "rounds": every("SELECT id, number FROM qualification_round"),
        "keys": every("SELECT id, round_id FROM qualification_answerkey"),
        "checks": every("SELECT id, id FROM annotation_story WHERE role = 'check'"),
        "check_keys": every("SELECT id, story_id FROM annotation_checkkey"),
        "campaigns": every("SELECT id, number FROM recruitment_campaign WHERE state = 'live'"),
        **last_ids,
    }


def lengthen_comparison(before: Release, now: Release, *, rows: int) -> None:
    """Repeat the differing stories of a finished comparison until there are enough of each kind."""
    place = store.place_of(before, now)
    found = store.load(before, now)
    assert found is not None
    for kind in Difference:
        line = next((orjson.dumps(row) + b"\n" for row in found.rows(kind)), b"")
        if line:
            (place / f"{kind}.jsonl").write_bytes(line * rows)
            found.summary["differing"][kind.value] = rows
    (place / store.SUMMARY).write_bytes(orjson.dumps(found.summary))
