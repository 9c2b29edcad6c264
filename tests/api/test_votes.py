"""The export of votes: every one of them, with what became of it, in bounded memory and without formulas."""

from __future__ import annotations

import csv
import io
import json
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.signals import request_finished
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts import download_slots
from accounts.download_slots import slots, take
from annotation import actions, rules
from annotation.models import Assignment, Enrollment, Study, Vote
from dashboard.stories import votes_export
from tests import builders
from tests.api.client import Program, member, problem
from tests.publishing.support import published
from tomannot.embedded.locks import wait_until

Row = dict[str, Any]


def exported(program: Program, query: str = "") -> list[Row]:
    response = program.get(f"studies/main/votes.jsonl{query}")
    assert response["Content-Type"] == "application/jsonl; charset=utf-8"
    return [json.loads(line) for line in b"".join(response).decode().splitlines()]


def _cell(value: Any) -> str:
    """Return what a CSV file has for the value: None is an empty cell."""
    if value is None:
        return ""
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
        enrollment=out, reason="test", shown_reason="Please write to us.", by=None, now=timezone.now()
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
        "position", "order_seed", "option_seed", "language", "instructions", "comment",
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
    found = [
        (vote | {"story_id": "=1+1", "comment": "+1 = 2"}, answers)
        for vote, answers in votes_export.votes_of(study)
    ]
    # Our importers take no such id; a protocol that is added may. Annotators write the comments.
    for place in ("api.stories", "dashboard.stories.votes_export"):
        monkeypatch.setattr(f"{place}.votes_of", lambda study, since: iter(found))
    program = Program(member(study))
    (cells,) = csv.DictReader(io.StringIO(b"".join(program.get("studies/main/votes.csv")).decode()))
    assert (cells["story_id"], cells["comment"]) == ("'=1+1", "'+1 = 2")
    assert exported(program)[0]["story_id"] == "=1+1"


@pytest.mark.django_db
def test_the_export_reads_a_batch_at_a_time_and_nothing_before_it_is_asked_to(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(votes_export, "AT_ONCE", 2)
    study = builders.make_study("main", stories=7, votes_per_story=1)
    builders.answer_everything(builders.qualified(study))

    def queries_for(rows: int) -> int:
        with CaptureQueriesContext(connection) as captured:
            stream = votes_export.votes_of(study)
            for _ in range(rows):
                next(stream)
        return len(captured)

    assert [queries_for(rows) for rows in (0, 1, 2, 3, 7)] == [0, 2, 2, 4, 8]
    assert len({vote["story_id"] for vote, _ in votes_export.votes_of(study)}) == 7
    assert all(len(numbers) <= 2 for numbers in votes_export._batches(Study.objects.get(), None))
    assert Assignment.objects.count() == 7


@pytest.mark.django_db
def test_since_reads_the_stories_of_the_newer_votes_alone_by_an_index_of_their_times(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(votes_export, "AT_ONCE", 2)
    study = builders.make_study("main", stories=9, votes_per_story=2)
    old, new = builders.qualified(study, 2)
    since = timezone.now()
    for _ in range(9):
        builders.vote(old, now=since - timedelta(days=1))
    stories = {builders.vote(new).vote.assignment.story.story_id for _ in range(3)}

    def exported_since() -> tuple[set[str], int]:
        with CaptureQueriesContext(connection) as captured:
            found = {vote["story_id"] for vote, _ in votes_export.votes_of(study, since=since)}
        return found, len(captured)

    assert exported_since() == (stories, 1 + 2 * 2 + 1), "their stories, and two batches of these"
    monkeypatch.setattr(votes_export, "FEW", 2)
    assert exported_since() == (stories, 1 + 2 * 5 + 1), "so many that all stories are walked through"
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        plan = Vote.objects.filter(submitted_at__gte=since).explain()
    assert "votes_by_time" in plan


@pytest.mark.django_db
def test_answers_to_questions_of_an_older_form_are_in_both_files() -> None:
    study = builders.make_study("main", stories=1, votes_per_story=2)
    old, new = builders.qualified(study, 2)
    # A vote as an older version of the form left it.
    vote = actions.assign_next_story(enrollment=old, now=timezone.now())
    assert isinstance(vote, Assignment)
    at = timezone.now()
    given = Vote.objects.create(
        assignment=vote, protocol_version="0", story_hash="x", order_position=1, served_at=at,
        first_submitted_at=at, submitted_at=at, environment=study.environment,
    )  # fmt: skip
    given.answers.create(question="q0", option="yes", counts_against=False)
    builders.vote(new)
    program = Program(member(study))
    lines = exported(program)
    table = list(csv.DictReader(io.StringIO(b"".join(program.get("studies/main/votes.csv")).decode())))
    assert list(table[0])[2:7] == ["q1", "q2", "q3", "q4", "q0"]
    assert [line.get("q0", "") for line in lines] == [cells["q0"] for cells in table] == ["yes", ""]


@pytest.mark.django_db
def test_few_exports_are_open_at_a_time_and_a_closed_one_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_finished, "send", lambda **_: [])  # it would close the test's transaction
    study = builders.make_study("main", stories=1, votes_per_story=1)
    builders.vote(builders.qualified(study)[0])
    owner = member(study)
    mine, other, third = Program(owner), Program(owner), Program(member(study))
    first, second = (mine.get("studies/main/votes.jsonl") for _ in range(2))
    refused = mine.get("studies/main/votes.csv")
    assert "at most 2 per token" in problem(refused, 429)["detail"]
    assert refused["Retry-After"] == "30"
    assert mine.ask("HEAD", "studies/main/votes.csv").status_code == 200, "HEAD takes no place"
    assert other.get("studies/main/votes.jsonl").status_code == 200
    problem(third.get("studies/main/votes.jsonl"), 429)
    first.close()  # the client has gone before its end
    assert len(b"".join(third.get("studies/main/votes.jsonl")).splitlines()) == 1
    b"".join(second)  # read to its end
    for program in (mine, third):
        assert program.get("studies/main/votes.jsonl").status_code == 200


def test_a_stream_ends_when_its_time_is_over_and_frees_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = slots("test", 1, "a stream")
    place = take(keys)
    assert place is not None
    stream = download_slots.Limited(iter([b"one", b"two"]), place)
    assert next(stream) == b"one"
    assert take(keys) is None
    over = time.monotonic() + download_slots.LONGEST.total_seconds() + 1
    monkeypatch.setattr(time, "monotonic", lambda: over)
    with pytest.raises(download_slots.TooSlow):
        next(stream)
    again = take(keys)
    assert again is not None
    place.release()
    assert take(keys) is None, "what is another's by now is not freed"


def test_a_place_is_held_while_its_holder_lives_and_no_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("accounts.download_slots.LEASE_SECONDS", 2)
    keys = slots("test", 1, "a holder")
    monkeypatch.setattr("accounts.download_slots.RENEWED_EVERY_SECONDS", 0.1)
    held = take(keys)
    assert held is not None
    time.sleep(2.5)
    assert take(keys) is None, "renewed, whatever its holder waits for"
    held._over.set()  # as if its process had been killed
    assert wait_until(lambda: take(keys) is not None, 20)


def test_who_takes_nothing_more_gives_the_place_to_others_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sending blocks then, and nothing of ours is called that could end it."""
    monkeypatch.setattr(download_slots, "LEASE_SECONDS", 1)
    monkeypatch.setattr(download_slots, "RENEWED_EVERY_SECONDS", 0.1)
    monkeypatch.setattr(download_slots, "LONGEST", timedelta(seconds=0.5))
    keys = slots("test", 1, "a stalled one")
    held = take(keys)
    assert held is not None
    assert take(keys) is None
    assert wait_until(lambda: take(keys) is not None, 20)
