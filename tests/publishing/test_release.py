"""Asking for, building and publishing a release: the states, the directory, and what may go wrong."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import DatabaseError, IntegrityError, connection, transaction
from django.utils import timezone

from annotation import actions as annotation_actions, rules
from annotation.models import Answer, Event, Study
from publishing import builder, queries, story_stream
from publishing.actions import releases
from publishing.errors import NothingToRelease, ReleaseUnderway, UnknownFilter
from publishing.files import directory
from publishing.filters import Outcome
from publishing.models import AnswerSides, Release, ReleaseFile
from tests import builders
from tests.publishing.conftest import published_twice
from tests.publishing.support import build, judged_study, published, random_forms, request, verdict_counts
from tests.publishing.test_queries import verdicts

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("releases_root")]

YES, NO = builders.ALL_YES, builders.answers(q3="no")


def rows(release: Release, path: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (release.directory / path).read_text(encoding="utf-8").splitlines()]


def test_every_verdict_of_a_release_can_be_recomputed_from_its_votes() -> None:
    forms = random_forms(5, 15)
    study = judged_study("whole", forms, qualification=2)
    release = published(study)
    expected = verdicts(forms, 3)
    by_outcome = {
        outcome: {story_id for story_id, verdict in expected.items() if verdict.outcome is outcome}
        for outcome in Outcome
    }
    assert {row["story_id"] for row in rows(release, "story-data/test.jsonl")} == by_outcome[Outcome.KEPT]
    dropped = rows(release, "annotations/dropped-stories.jsonl")
    assert {row["story_id"]: row["reason"] for row in dropped} == {
        story_id: expected[story_id].reason for story_id in by_outcome[Outcome.DROPPED]
    }
    votes = rows(release, "annotations/votes.jsonl")
    assert sorted((row["story_id"], *(row[key] for key in YES)) for row in votes) == sorted(
        (story_id, *form.values()) for story_id, given in forms.items() for form in given
    )
    people = study.enrollments.values_list("annotator", flat=True)
    assert {row["annotator"] for row in votes} == {rules.pseudonym(study.pseudonym_key, pk) for pk in people}
    kept, lost, incomplete = (len(by_outcome[outcome]) for outcome in Outcome)
    assert (release.stories, release.kept, release.dropped, release.incomplete) == (
        15,
        kept,
        lost,
        incomplete,
    )
    assert (release.votes, release.annotators) == (len(votes), 3)
    card = (release.directory / "README.md").read_text(encoding="utf-8")
    assert "3 people consented to take part" in card
    assert "3 people completed a qualification test, and 3 of 3" in card
    assert "The pass mark was 8 of 8 acceptable answers. Only those who passed could vote." in card


def test_what_is_recorded_is_what_is_on_disk(release: Release) -> None:
    assert release.directory == Path(settings.RELEASES_ROOT) / "small" / "1"
    files, manifest_sha256 = directory.verify(release.directory)
    assert manifest_sha256 == release.manifest_sha256
    recorded = ReleaseFile.objects.filter(release=release).values_list("path", "size", "sha256")
    assert list(recorded) == [(file.path, file.size, file.sha256) for file in files]
    assert [entry.name for entry in release.directory.parent.iterdir()] == ["1"]
    description = json.loads((release.directory / "release.json").read_bytes())
    assert description["salt"] == release.salt
    assert description["code_version"] == release.code_version
    assert re.fullmatch(r"\d+\.\d+\.\d+(\+[0-9a-f]{12}(\.dirty)?)?", release.code_version)
    assert {key: description["counts"][key] for key in releases.COUNTS} == {
        "stories": 4, "kept": 2, "dropped": 1, "incomplete": 1, "votes": 3, "annotators": 1,
    }  # fmt: skip


def test_the_audit_log_says_who_asked_and_what_came_of_it(small: Study, django_user_model: Any) -> None:
    somebody = django_user_model.objects.create_user("rita")
    release = releases.request_release(study=small, by=somebody, now=timezone.now())
    build(release)
    events = Event.objects.filter(study=small, subject="release 1").order_by("pk")
    assert [(event.type, event.actor) for event in events] == [
        ("release_requested", somebody),
        ("release_published", None),
    ]
    assert release.requested_by == somebody


def test_the_same_votes_and_the_same_request_give_the_same_bytes(release: Release) -> None:
    facts, chunks = queries.release_facts(release), story_stream.chunks(release.study)
    again = release.directory.parent / "again"
    with queries.snapshot():
        built = builder.build(again, facts=facts, chunks=chunks)
    assert built.manifest_sha256 == release.manifest_sha256


def test_the_planner_knows_what_came_in_since_it_last_looked(small: Study) -> None:
    """It would otherwise plan for the few rows that it saw then, and compare every answer with every vote."""

    def believed() -> float:
        with connection.cursor() as cursor:
            cursor.execute("SELECT reltuples FROM pg_class WHERE oid = 'annotation_answer'::regclass")
            return float(cursor.fetchone()[0])

    published(small)
    assert believed() == Answer.objects.count()


def test_people_who_come_later_do_not_change_a_build(small: Study) -> None:
    release = request(small)
    builders.qualified(small, 2)
    facts = queries.release_facts(release)
    assert facts.people.consented == 1
    assert facts.people.attempted is None


def test_releases_are_numbered_and_share_the_sides_of_right_answers() -> None:
    first, second = published_twice()
    assert (first.number, second.number) == (1, 2)
    assert first.salt == second.salt
    for path in ("mental-state-qa/test.jsonl", "behavior-qa/test.jsonl", "judgment-qa/test.jsonl"):
        assert (first.directory / path).read_bytes() == (second.directory / path).read_bytes()
    with pytest.raises(DatabaseError, match="Cannot"), transaction.atomic():
        AnswerSides.objects.update(medians={})
    assert first.manifest_sha256 != second.manifest_sha256


def test_a_release_of_an_open_study_says_so_and_leaves_the_rest_out(release: Release) -> None:
    assert release.study_state == "open"
    assert b'"d"' not in (release.directory / "story-data/test.jsonl").read_bytes()
    annotation_actions.close_study(study=release.study, by=None, now=timezone.now())
    assert published(release.study).study_state == "closed"


# Refusals


def test_nothing_to_release() -> None:
    with pytest.raises(NothingToRelease, match="draft"):
        request(builders.make_study("draft", opened=False))
    with pytest.raises(NothingToRelease, match="all its 3 votes"):
        request(builders.make_study("unanswered"))
    with pytest.raises(UnknownFilter):
        releases.request_release(
            study=builders.make_study("x"), by=None, now=timezone.now(), filter_name="no-such"
        )
    assert not Release.objects.exists()


def test_a_release_whose_stories_are_all_dropped_fails_with_the_reason() -> None:
    release = build(request(judged_study("dropped", {"a": (NO,)}, votes_per_story=1)))
    assert release.state == Release.State.FAILED
    assert "keeps none of the 1 complete stories" in release.failure
    assert list(release.directory.parent.iterdir()) == []


def test_one_release_at_a_time(small: Study) -> None:
    release = request(small)
    with pytest.raises(ReleaseUnderway) as underway:
        request(small)
    assert underway.value.release_id == release.pk
    with pytest.raises(IntegrityError, match="one_unfinished_release_per_study"):
        Release.objects.create(
            study=small, number=2, environment="live", study_state="open", filter_name="all-agree",
            votes_per_story=1, story_cap=1, salt="x", code_version="x", requested_at=timezone.now(),
        )  # fmt: skip


def test_two_people_who_ask_at_the_same_moment_get_one_release(small: Study) -> None:
    ready = threading.Barrier(2)
    outcomes: list[str] = []

    def ask() -> None:
        ready.wait(timeout=10)
        try:
            request(small)
            outcomes.append("asked")
        except ReleaseUnderway:
            outcomes.append("underway")
        finally:
            connection.close()

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    assert sorted(outcomes) == ["asked", "underway"]
    assert Release.objects.count() == 1


# Immutability


CHANGES: dict[str, Callable[[Release], object]] = {
    "counts": lambda release: Release.objects.filter(pk=release.pk).update(kept=0),
    "state": lambda release: Release.objects.filter(pk=release.pk).update(state="failed"),
    "row": lambda release: Release.objects.filter(pk=release.pk)._raw_delete(release._state.db),
    "hash": lambda release: release.files.update(sha256="0" * 64),
    "files": lambda release: release.files.all()._raw_delete(release._state.db),
    "one more file": lambda release: release.files.create(path="x", size=0, sha256="0" * 64),
}


def test_a_published_release_never_changes(release: Release) -> None:
    tables = (Release, ReleaseFile)
    before = [list(table.objects.values()) for table in tables]
    for change in CHANGES.values():
        with pytest.raises(DatabaseError, match=r"Cannot|takes no more rows"), transaction.atomic():
            change(release)
    assert [list(table.objects.values()) for table in tables] == before


def test_building_a_finished_release_again_does_nothing(release: Release) -> None:
    before = {path: path.stat().st_mtime_ns for path in release.directory.rglob("*")}
    build(release)
    releases.fail_release(release_id=release.pk, reason="late", now=timezone.now())
    release.refresh_from_db()
    assert release.state == Release.State.PUBLISHED
    assert {path: path.stat().st_mtime_ns for path in release.directory.rglob("*")} == before


DAMAGES: dict[str, Callable[[Path], object]] = {
    "release.json": lambda file: file.write_bytes(file.read_bytes().replace(b"e", b"E", 1)),
    "story-data/test.jsonl": lambda file: file.write_bytes(b""),
    "annotations/dropped-stories.jsonl": lambda file: file.unlink(),
}


def test_a_release_is_not_compared_with_a_damaged_one(release: Release) -> None:
    for path, damage in DAMAGES.items():
        damaged = release.directory / path
        whole = damaged.read_bytes()
        damage(damaged)
        later = build(request(release.study))
        assert later.state == Release.State.FAILED
        assert f"{damaged} is not as it was published" in later.failure
        damaged.write_bytes(whole)
    later = build(request(release.study))
    assert (later.number, later.state) == (2, Release.State.PUBLISHED)


def test_votes_that_arrive_during_a_build_are_in_none_or_all_of_its_files(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    study = judged_study("moving", {"a": (YES, YES), "b": (YES,)}, votes_per_story=2)
    release = request(study)
    chunks = story_stream.chunks

    def with_a_vote_in_between(of: Study, **options: Any) -> Any:
        stream = iter(chunks(of, **options))
        yield next(stream)
        late = threading.Thread(target=add_vote)
        late.start()
        late.join(timeout=30)
        yield from stream

    def add_vote() -> None:
        builders.answer_everything(builders.qualified(study))
        connection.close()

    monkeypatch.setattr("publishing.actions.releases.story_stream.chunks", with_a_vote_in_between)
    build(release)
    assert (release.state, release.kept, release.incomplete, release.votes) == ("published", 1, 1, 3)
    monkeypatch.undo()
    assert verdict_counts(study).kept == 2
