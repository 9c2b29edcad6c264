"""Races of changed answers: with one another, with a release, with being forgotten."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.db import IntegrityError
from django.utils import timezone

from accounts.actions import AddressTaken, Erased, confirm_email, erase_identities, set_email
from accounts.models import Annotator, Environment, PlatformIdentity
from annotation import actions, locks
from annotation.actions import votes
from annotation.actions.votes import store_vote
from annotation.errors import CannotChange
from annotation.models import Event, Study, Vote
from annotation.protocols.validity import ValidityProtocol
from publishing.actions import releases as publishing_actions
from publishing.models import Release
from tests import builders
from tests.annotation.invariants import broken
from tests.concurrency.racing import (
    MOMENT,
    ROUNDS,
    Overtaking,
    errors,
    race,
    slowly,
    together,
    without_constraint,
    without_locks,
)
from tests.worlds import built_once

pytestmark = pytest.mark.django_db(transaction=True)


def changing(vote: Vote, **answers: str) -> Callable[[], Vote]:
    return lambda: actions.change_vote(
        assignment_id=vote.assignment_id,
        enrollment=vote.assignment.enrollment,
        submitted=builders.answers(**answers),
        now=timezone.now(),
    )


@pytest.fixture
@built_once
def vote() -> Vote:
    """The only vote on one of two stories; the other has one that keeps it."""
    study = builders.make_study(stories=2, votes_per_story=1)
    first, second = builders.qualified(study, 2)
    builders.vote(second)
    return builders.vote(first).vote


# Two changes of one vote


def test_two_changes_at_once_are_revisions_two_and_three(vote: Vote, monkeypatch: pytest.MonkeyPatch) -> None:
    slowly(monkeypatch, ValidityProtocol, "read_form")

    outcomes = race(changing(vote, q1="no"), changing(vote, q2="no"))

    assert not errors(outcomes)
    votes = Vote.objects.filter(assignment=vote.assignment_id).order_by("revision")
    assert [v.revision for v in votes] == [1, 2, 3]
    assert {frozenset(v.answers.filter(option="no").values_list("question", flat=True)) for v in votes} == {
        frozenset(),
        frozenset({"q1"}),
        frozenset({"q2"}),
    }
    assert Event.objects.filter(type=Event.Type.VOTE_CHANGED).count() == 2
    assert not broken()


def test_one_change_sent_twice_is_one_revision(vote: Vote, monkeypatch: pytest.MonkeyPatch) -> None:
    slowly(monkeypatch, ValidityProtocol, "read_form")

    outcomes = race(*[changing(vote, q1="no")] * 2)

    assert not errors(outcomes)
    assert {outcome.pk for outcome in outcomes if isinstance(outcome, Vote)} == {
        Vote.objects.get(revision=2).pk
    }
    assert not broken()


def test_control_without_locks_the_constraint_refuses_the_second(
    vote: Vote, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_locks(monkeypatch)
    together(monkeypatch, votes, "store_vote", 2, before=True)

    outcomes = race(changing(vote, q1="no"), changing(vote, q2="no"))

    assert [type(error) for error in errors(outcomes)] == [IntegrityError]
    assert Vote.objects.filter(revision=2).count() == 1


# A change and a release


@pytest.fixture
def release(vote: Vote, settings: Any, tmp_path: Path) -> Release:
    """Asked for, and not built yet."""
    settings.RELEASES_ROOT = tmp_path / "releases"
    return publishing_actions.request_release(study=Study.objects.get(), by=None, now=timezone.now())


def building(release: Release) -> Callable[[], None]:
    return lambda: publishing_actions.build_release(release_id=release.pk, now=timezone.now())


def published_answer(release: Release, vote: Vote) -> str:
    """What the release says that the vote says to the first question."""
    release.refresh_from_db()
    assert release.state == Release.State.PUBLISHED, release.failure
    text = (release.directory / "annotations" / "votes.jsonl").read_text(encoding="utf-8")
    by_story = {row["story_id"]: row["q1"] for row in map(json.loads, text.splitlines())}
    return str(by_story[vote.assignment.story.story_id])


def answer_that_counts(vote: Vote) -> str:
    (counted,) = Vote.objects.counted().filter(assignment=vote.assignment_id)
    return counted.answers.get(question="q1").option


def test_a_change_that_is_being_made_is_in_the_release(
    vote: Vote, release: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The build begins when the change has been found allowed and is not stored yet: it waits."""
    inside = threading.Event()

    def slow(*args: Any, **kwargs: Any) -> Vote:
        inside.set()
        threading.Event().wait(MOMENT * 6)
        return store_vote(*args, **kwargs)

    monkeypatch.setattr(votes, "store_vote", slow)

    def build() -> None:
        inside.wait(timeout=20)
        building(release)()

    outcomes = race(changing(vote, q1="no"), build)

    assert not errors(outcomes)
    assert published_answer(release, vote) == answer_that_counts(vote) == "no"
    assert not broken()


def test_control_without_the_lock_a_release_publishes_what_no_longer_counts(
    vote: Vote, release: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locks, "share_answers", lambda study_id: None)
    overtaking = Overtaking()

    def overtaken(*args: Any, **kwargs: Any) -> Vote:
        overtaking.wait_inside()
        return store_vote(*args, **kwargs)

    monkeypatch.setattr(votes, "store_vote", overtaken)

    outcomes = race(changing(vote, q1="no"), overtaking.overtake(building(release)))

    assert not errors(outcomes)
    assert (published_answer(release, vote), answer_that_counts(vote)) == ("yes", "no")


def test_a_change_during_the_build_is_refused(
    vote: Vote, release: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    overtaking = Overtaking()
    built = publishing_actions._build

    def overtaken(release: Release, report: Any) -> Any:
        overtaking.wait_inside()
        return built(release, report)

    monkeypatch.setattr(publishing_actions, "_build", overtaken)

    outcomes = race(building(release), overtaking.overtake(changing(vote, q1="no")))

    assert isinstance(outcomes[1], CannotChange)
    assert published_answer(release, vote) == answer_that_counts(vote) == "yes"
    assert not broken()


# Addresses


def giving(annotator: Annotator, address: str) -> Callable[[], PlatformIdentity | None]:
    return lambda: set_email(
        annotator=annotator, environment=Environment.LIVE, address=address, now=timezone.now()
    )


def somebody() -> Annotator:
    return Annotator.objects.create(created_at=timezone.now())


def confirming(identity: PlatformIdentity | None) -> Callable[[], PlatformIdentity]:
    assert identity is not None
    return lambda: confirm_email(identity_id=identity.pk, now=timezone.now())


def test_one_address_confirmed_by_many_at_once_is_known_for_one() -> None:
    claims = [giving(somebody(), "ada@example.org")() for _ in range(3)]

    outcomes = race(*[confirming(claim) for claim in claims])

    assert [type(error) for error in errors(outcomes)] == [AddressTaken] * 2
    assert PlatformIdentity.objects.get(confirmed_at__isnull=False).person == "ada@example.org"


def test_control_without_the_constraint_an_address_is_known_for_many() -> None:
    with without_constraint(PlatformIdentity, "one_annotator_per_platform_person"):
        claims = [giving(somebody(), "ada@example.org")() for _ in range(3)]
        outcomes = race(*[confirming(claim) for claim in claims])
        assert not errors(outcomes)
        assert PlatformIdentity.objects.filter(confirmed_at__isnull=False).count() == 3


def test_one_person_who_gives_an_address_in_many_tabs_keeps_one() -> None:
    person = somebody()

    outcomes = race(*[giving(person, f"ada{number % 2}@example.org") for number in range(3)])

    assert not errors(outcomes)
    assert PlatformIdentity.objects.count() == 1


@pytest.mark.parametrize("round", ROUNDS)
def test_an_address_given_while_being_forgotten_is_not_kept(round: int) -> None:
    person = somebody()

    outcomes = race(
        giving(person, "ada@example.org"),
        lambda: erase_identities(annotator=person, now=timezone.now()),
        giving(person, "ada@example.com"),
    )

    assert all(isinstance(error, Erased) for error in errors(outcomes))
    assert not PlatformIdentity.objects.exists()


def test_control_without_locks_an_address_outlives_being_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    person = somebody()
    without_locks(monkeypatch)
    overtaking = Overtaking()
    create = PlatformIdentity.objects.create

    def overtaken(**values: Any) -> PlatformIdentity:
        overtaking.wait_inside()
        return create(**values)

    monkeypatch.setattr(PlatformIdentity.objects, "create", overtaken)

    race(
        giving(person, "ada@example.org"),
        overtaking.overtake(lambda: erase_identities(annotator=person, now=timezone.now())),
    )

    assert broken("people") == {"erased_people_leave_no_identity"}
