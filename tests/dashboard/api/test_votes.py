"""The export of votes: every one of them, with what became of it, in bounded memory and without formulas."""

from __future__ import annotations

import csv
import io
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotation import actions, rules
from annotation.models import Assignment, Enrollment, Study, Vote
from dashboard import votes
from tests import builders
from tests.dashboard.api.asking import Program, member
from tests.publishing.support import published

Row = dict[str, Any]


def exported(program: Program, query: str = "") -> list[Row]:
    response = program.get(f"studies/main/votes.jsonl{query}")
    assert response["Content-Type"] == "application/jsonl; charset=utf-8"
    return [json.loads(line) for line in b"".join(response).decode().splitlines()]


def _cell(value: Any) -> str:
    return json.dumps(value) if isinstance(value, bool) else str(value)


def about(row: Row) -> tuple[Any, ...]:
    return tuple(row[name] for name in ("revision", "newest", "counted", "state", "surplus"))


@pytest.mark.django_db(transaction=True)  # a release is built in a transaction of its own
def test_every_vote_is_there_with_what_became_of_it_and_the_counted_ones_are_those_of_a_release(
    settings: Any, tmp_path: Path
) -> None:
    settings.RELEASES_ROOT = tmp_path
    study = builders.make_study("main", stories=2, votes_per_story=2)
    early = timezone.now() - timedelta(hours=3)
    steady, changing, out, late = builders.qualified(study, 4, now=early)
    first = builders.vote(changing, builders.answers(q3="no"), now=early).vote
    actions.change_vote(
        assignment_id=first.assignment_id, enrollment=changing, submitted=builders.ALL_YES, now=timezone.now()
    )
    held = builders.claim(late)
    actions.suspend(enrollment=late, by=None, now=timezone.now(), reason="test")
    actions.record_vote(
        assignment_id=held.pk, enrollment=late, submitted=builders.ALL_YES, now=timezone.now()
    )
    builders.vote(out)
    actions.exclude_annotator(
        enrollment=out, reason="test", told="Please write to us.", by=None, now=timezone.now()
    )
    builders.answer_everything([steady, changing])
    program = Program(member(study))
    rows = exported(program)
    assert len(rows) == Vote.objects.count()
    name = {
        person.pk: rules.pseudonym(study.pseudonym_key, person.annotator_id)
        for person in (steady, changing, out, late)
    }

    def of(person: Enrollment) -> list[Row]:
        return [row for row in rows if row["annotator"] == name[person.pk]]

    revised = [row for row in of(changing) if row["story_id"] == first.assignment.story.story_id]
    assert [(row["q3"], about(row)) for row in revised] == [
        ("no", (1, False, False, "submitted", "")),
        ("yes", (2, True, True, "submitted", "")),
    ]
    assert [about(row) for row in of(out)] == [(1, True, False, "excluded", "")]
    assert [about(row) for row in of(late)] == [(1, True, False, "surplus", "not_qualified")]
    assert list(rows[0]) == [
        "story_id", "annotator", "q1", "q2", "q3", "q4", "submitted_at", "seconds_on_task",
        "revision", "newest", "counted", "state", "surplus",
    ]  # fmt: skip
    directory = published(study).directory
    released = [
        json.loads(line) for line in (directory / "annotations" / "votes.jsonl").read_text().splitlines()
    ]
    counted = [{name: row[name] for name in released[0]} for row in rows if row["counted"]]
    assert sorted(counted, key=str) == sorted(released, key=str)
    newer = exported(program, f"?since={early + timedelta(hours=1):%Y-%m-%dT%H:%M:%SZ}")
    assert newer == [row for row in rows if row["revision"] == 2 or row["q3"] == "yes"]
    assert len(newer) == len(rows) - 1
    table = csv.DictReader(io.StringIO(b"".join(program.get("studies/main/votes.csv")).decode()))
    assert list(table) == [{name: _cell(value) for name, value in row.items()} for row in rows]


@pytest.mark.django_db
def test_no_cell_is_a_formula(monkeypatch: pytest.MonkeyPatch) -> None:
    study = builders.make_study("main", stories=1, votes_per_story=1)
    builders.vote(builders.qualified(study)[0])
    found = [(vote | {"story_id": "=1+1"}, answers) for vote, answers in votes.votes_of(study)]
    # Our importers take no such id; a protocol that is added may.
    monkeypatch.setattr("dashboard.api.votes.votes_of", lambda study, since: iter(found))
    program = Program(member(study))
    (cells,) = csv.DictReader(io.StringIO(b"".join(program.get("studies/main/votes.csv")).decode()))
    assert cells["story_id"] == "'=1+1"
    assert exported(program)[0]["story_id"] == "=1+1"


@pytest.mark.django_db
def test_the_export_reads_a_batch_at_a_time_and_nothing_before_it_is_asked_to(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(votes, "AT_ONCE", 2)
    study = builders.make_study("main", stories=7, votes_per_story=1)
    builders.answer_everything(builders.qualified(study))

    def queries_for(rows: int) -> int:
        with CaptureQueriesContext(connection) as captured:
            stream = votes.votes_of(study)
            for _ in range(rows):
                next(stream)
        return len(captured)

    assert [queries_for(rows) for rows in (0, 1, 2, 3, 7)] == [0, 2, 2, 4, 8]
    assert len({vote["story_id"] for vote, _ in votes.votes_of(study)}) == 7
    assert all(len(numbers) <= 2 for numbers in votes._batches(Study.objects.get()))
    assert Assignment.objects.count() == 7
