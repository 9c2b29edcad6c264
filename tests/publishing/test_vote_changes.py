"""Releases and changed answers: what a release freezes, and what it leaves open."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from annotation.errors import CannotChange
from annotation.models import Study
from annotation.rules import NoChange
from publishing.actions import releases as publishing_actions
from publishing.models import Release
from tests import builders
from tests.annotation.answered import (
    BEGAN,
    LATER,
    NO,
    SECONDS,
    answered,
    change,
    everything_holds,
    given,
    nothing_stored,
)

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("releases_root")]


@pytest.fixture
def study() -> Study:
    return builders.make_study(stories=3, votes_per_story=1, now=BEGAN)


def published(study: Study, *, now: datetime | None = None) -> Release:
    now = now or timezone.now()
    release = publishing_actions.request_release(study=study, by=None, now=now)
    publishing_actions.build_release(release_id=release.pk, now=now)
    release.refresh_from_db()
    assert release.state == Release.State.PUBLISHED, release.failure
    return release


def votes_in(release: Release) -> list[dict[str, Any]]:
    lines = (release.directory / "annotations" / "votes.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


@pytest.fixture
def releases_root(settings: Any, tmp_path: Path) -> Path:
    settings.RELEASES_ROOT = tmp_path / "releases"
    return tmp_path / "releases"


def _killed(release: Release, report: object) -> None:
    raise KeyboardInterrupt


def test_a_change_between_request_and_build_is_in_the_release(study: Study) -> None:
    person, first = answered(study)
    builders.vote(person)
    release = publishing_actions.request_release(study=study, by=None, now=LATER)
    change(person, first)
    publishing_actions.build_release(release_id=release.pk, now=timezone.now())
    release.refresh_from_db()

    story_id = first.assignment.story.story_id
    assert len(votes_in(release)) == 2
    (line,) = [line for line in votes_in(release) if line["story_id"] == story_id]
    assert {question: line[question] for question in NO} == NO
    assert line["seconds_on_task"] == SECONDS
    assert (release.kept, release.dropped, release.votes) == (1, 1, 2)


def test_a_release_that_fails_fixes_nothing(study: Study) -> None:
    person, first = answered(study, NO)
    release = publishing_actions.request_release(study=study, by=None, now=LATER)
    publishing_actions.build_release(release_id=release.pk, now=LATER)
    release.refresh_from_db()
    assert "keeps none" in release.failure

    change(person, first, builders.ALL_YES, now=LATER)

    assert published(study).kept == 1
    assert list(study.events.filter(type__startswith="answers").values_list("type", flat=True)) == [
        "answers_frozen",
        "answers_thawed",
        "answers_frozen",
    ]
    assert everything_holds()


def test_a_release_that_fails_leaves_fixed_what_an_earlier_one_published(study: Study) -> None:
    person, first = answered(study)
    earlier = published(study)
    later = builders.vote(person).vote
    asked = publishing_actions.request_release(study=study, by=None, now=timezone.now())
    earlier.directory.with_name("2").write_text("in the way", encoding="utf-8")
    publishing_actions.build_release(release_id=asked.pk, now=timezone.now())
    asked.refresh_from_db()
    assert asked.state == Release.State.FAILED

    assert change(person, later, now=timezone.now()).revision == 2
    with pytest.raises(CannotChange):
        change(person, first)
    assert everything_holds()


def test_a_build_that_was_killed_goes_on_with_the_same_answers(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    person, first = answered(study)
    release = publishing_actions.request_release(study=study, by=None, now=LATER)
    monkeypatch.setattr("publishing.actions.releases._build", _killed)
    with pytest.raises(KeyboardInterrupt):
        publishing_actions.build_release(release_id=release.pk, now=LATER)
    monkeypatch.undo()
    later = builders.vote(person).vote
    with pytest.raises(CannotChange):
        change(person, first)

    publishing_actions.build_release(release_id=release.pk, now=timezone.now())

    release.refresh_from_db()
    assert (release.state, release.votes) == (Release.State.PUBLISHED, 1)
    assert change(person, later, now=timezone.now()).revision == 2
    assert everything_holds()


def test_a_published_answer_stays_and_one_that_was_given_later_may_change(study: Study) -> None:
    person, first = answered(study)
    published(study)
    with nothing_stored(), pytest.raises(CannotChange) as error:
        change(person, first)
    assert error.value.reason == NoChange.PUBLISHED
    after = timezone.now()
    later = builders.vote(person, now=after).vote

    second = change(person, later, now=after + timedelta(minutes=1))

    assert (second.revision, given(second)) == (2, NO)
    release = published(study, now=after + timedelta(minutes=2))
    assert sorted(line["q2"] for line in votes_in(release)) == ["no", "yes"]
    with pytest.raises(CannotChange):
        change(person, second, builders.ALL_YES, now=after + timedelta(minutes=3))
    assert everything_holds()
