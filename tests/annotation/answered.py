"""A story answered at a known time, and what the database holds of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

from django.db import connection
from django.utils import timezone

from annotation import actions
from annotation.models import Answer, Assignment, Enrollment, Event, Story, Study, Vote
from integrity.catalogue import CHECKS, run
from tests import builders
from tests.publishing.support import verdict_counts

BEGAN = timezone.now() - timedelta(hours=5)
SECONDS = 40
ANSWERED = BEGAN + timedelta(seconds=SECONDS)
LATER = BEGAN + timedelta(hours=2)
NO = builders.answers(q2="no", q4="no")


def answered(study: Study, submitted: dict[str, str] = builders.ALL_YES) -> tuple[Enrollment, Vote]:
    """Somebody who was given a story at BEGAN and answered it SECONDS later."""
    (person,) = builders.qualified(study, now=BEGAN)
    assignment = builders.claim(person, now=BEGAN)
    receipt = actions.record_vote(
        assignment_id=assignment.pk, enrollment=person, submitted=submitted, now=ANSWERED
    )
    person.refresh_from_db()
    return person, receipt.vote


def change(person: Enrollment, vote: Vote, submitted: dict[str, str] = NO, *, now: datetime = LATER) -> Vote:
    return actions.change_vote(
        assignment_id=vote.assignment_id, enrollment=person, submitted=submitted, now=now
    )


def given(vote: Vote) -> dict[str, str]:
    return dict(vote.answers.values_list("question", "option"))


def rows(table: str) -> list[str]:
    """Every row of a table as PostgreSQL writes it."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT t::text FROM {table} t ORDER BY id")  # noqa: S608
        return [row for (row,) in cursor.fetchall()]


@contextmanager
def nothing_stored() -> Iterator[None]:
    tables = (Vote, Answer, Event, Assignment, Enrollment, Study, Story)
    names = [model._meta.db_table for model in tables]
    before = {name: rows(name) for name in names}
    yield
    assert {name: rows(name) for name in names} == before


def everything_holds() -> bool:
    return all(outcome.holds for outcome in run(CHECKS))


def outcome(study: Study) -> tuple[int, int, dict[str, int]]:
    counts = verdict_counts(study)
    return counts.kept, counts.dropped, counts.dropped_by_question
