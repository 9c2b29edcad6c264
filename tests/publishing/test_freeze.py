"""What a release fixes and what it leaves alone: later votes, people at work, and its own failures."""

from __future__ import annotations

import json
import threading
from datetime import timedelta
from typing import Any

import pytest
from django.db import DataError, connection, transaction
from django.utils import timezone

from annotation import actions as annotation_actions, rules
from annotation.models import Study, Vote
from publishing.actions import releases
from publishing.files import directory
from publishing.models import Release
from tests import builders
from tests.publishing.support import published, readable

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("releases_root")]

VOTES, INCOMPLETE = "annotations/votes.jsonl", "annotations/incomplete-stories.jsonl"


@pytest.fixture
def study() -> Study:
    """Two stories that need one vote each; the first has it."""
    study = builders.make_study("frozen", stories=2, votes_per_story=1)
    builders.vote(builders.qualified(study)[0])
    return study


def request(study: Study) -> Release:
    return releases.request_release(study=study, by=None, now=timezone.now())


def texts_in(release: Release) -> dict[str, str]:
    """The text of every file by its path in the release."""
    files = (path for path in release.directory.rglob("*") if path.is_file())
    return {path.relative_to(release.directory).as_posix(): readable(path) for path in files}


def naming(release: Release, text: str) -> set[str]:
    """The files of a release that have this text in them."""
    return {path for path, found in texts_in(release).items() if text in found}


def test_a_vote_saved_after_the_freeze_is_in_no_file_of_the_release(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It comes between the freeze and the build's view of the database, so the view has it."""
    (late_person,) = builders.qualified(study)
    adopted = releases._adopt
    given: list[Vote] = []

    def voting_first(release: Release) -> Any:
        given.append(builders.vote(late_person).vote)
        return adopted(release)

    with monkeypatch.context() as patch:
        patch.setattr(releases, "_adopt", voting_first)
        release = published(study)

    (late,) = given
    assert release.answers_until is not None
    assert late.submitted_at > release.answers_until
    story_id = late.assignment.story.story_id
    pseudonym = rules.pseudonym(study.pseudonym_key, late_person.annotator_id)
    assert naming(release, pseudonym) == set()
    assert naming(release, story_id) == {INCOMPLETE}, "its story was there before the freeze"
    (unjudged,) = map(json.loads, texts_in(release)[INCOMPLETE].splitlines())
    assert (unjudged["story_id"], unjudged["reason"]) == (story_id, "0 of 1 votes")
    assert (release.votes, release.annotators, release.kept, release.incomplete) == (1, 1, 1, 1)
    counts = json.loads((release.directory / "release.json").read_bytes())["counts"]
    assert (counts["votes"], counts["kept"], counts["incomplete"]) == (1, 1, 1)

    second = published(study)
    assert VOTES in naming(second, story_id) & naming(second, pseudonym)
    assert INCOMPLETE not in naming(second, story_id)


def test_people_go_on_voting_while_a_release_is_being_asked_for(study: Study) -> None:
    (person,) = builders.qualified(study)
    held = builders.claim(person)
    asked, done = threading.Event(), threading.Event()
    failures: list[Exception] = []

    def ask() -> None:
        try:
            with transaction.atomic():
                request(study)
                asked.set()
                done.wait(timeout=20)
        except Exception as error:  # noqa: BLE001 - the test looks at what went wrong
            failures.append(error)
        finally:
            asked.set()
            connection.close()

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        assert asked.wait(timeout=20)
        assert not Release.objects.exists(), "the request is committed already: this test shows nothing"
        with transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute("SET LOCAL lock_timeout = '2s'")
            receipt = annotation_actions.record_vote(
                assignment_id=held.pk, enrollment=person, submitted=builders.ALL_YES, now=timezone.now()
            )
    finally:
        done.set()
        asking.join(timeout=30)
    assert not failures
    assert Vote.objects.count() == 2
    assert Vote.objects.filter(pk=receipt.vote.pk).exists()
    assert Release.objects.get().state == Release.State.REQUESTED


def test_a_release_that_cannot_be_recorded_fails_with_the_reason_and_can_be_asked_for_again(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = request(study)

    def refuse(*args: object, **kwargs: object) -> None:
        raise DataError("value too long for type character varying(200)")

    with monkeypatch.context() as patch:
        patch.setattr(releases, "_publish", refuse)
        with pytest.raises(DataError):
            releases.build_release(release_id=release.pk, now=timezone.now())

    release.refresh_from_db()
    assert release.state == Release.State.FAILED
    assert "DataError: value too long" in release.failure
    assert releases.stalled_releases(now=timezone.now() + timedelta(hours=1)) == []
    study.refresh_from_db()
    assert study.answers_frozen_at is None

    again = published(study)
    assert (again.pk, again.number) == (release.pk, 1)
    directory.verify(again.directory)
