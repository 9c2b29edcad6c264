"""Races of a revision: with the person who answers the old version, and with one who is given it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db import IntegrityError
from django.utils import timezone

from annotation import actions, locks
from annotation.actions import revisions, serving
from annotation.errors import WrongState
from annotation.models import Assignment, Enrollment, Story, StoryRevision, Vote
from annotation.models.stories import StoryQuerySet
from annotation.rules import Refusal
from annotation.sql import taken_slots
from tests.annotation.invariants import broken
from tests.annotation.test_revisions import FINE, TEXT, first, holding, inspected, revise
from tests.builders import qualified
from tests.concurrency.racing import ROUNDS, Overtaking, errors, race, without_locks

pytestmark = pytest.mark.django_db(transaction=True)


def claiming(person: Enrollment) -> Callable[[], Assignment | Refusal]:
    return lambda: actions.assign_next_story(enrollment=person, now=timezone.now())


def submitting(held: Assignment) -> Callable[[], object]:
    return lambda: actions.record_vote_and_assign_next(
        assignment_id=held.pk, enrollment=held.enrollment, submitted=FINE, now=timezone.now()
    )


def leased() -> set[str]:
    held = Assignment.objects.filter(state=Assignment.State.LEASED)
    return set(held.values_list("story__story_id", flat=True))


@pytest.mark.parametrize("round", ROUNDS)
def test_an_answer_that_comes_during_a_revision_is_stored(round: int) -> None:
    study = inspected()
    person, other = qualified(study, 2)
    held = holding(person, first(study))
    outcomes = race(submitting(held), lambda: revise(held.story), claiming(other))
    assert not errors(outcomes), outcomes
    assert Vote.objects.get(assignment=held).assignment.story_id == held.story_id
    assert not Story.objects.get(pk=held.story_id).has_free_slot
    assert not broken("slots", "votes", "reviews")


@pytest.mark.parametrize("round", ROUNDS)
def test_two_revisions_at_once_make_one_version(round: int) -> None:
    old = first(inspected())
    outcomes = race(lambda: revise(old), lambda: revise(old), lambda: revise(old, "Another text."))
    made = StoryRevision.objects.get()
    refused = errors(outcomes)
    assert len(refused) == (1 if made.after.content["narrative"] == TEXT else 2)
    assert all(isinstance(error, WrongState) for error in refused), refused
    assert not broken("slots", "votes", "reviews")


def freed_meanwhile(monkeypatch: pytest.MonkeyPatch) -> tuple[Story, list[Any]]:
    """Somebody gives the story back while it is revised: their slot is freed after it has become old."""
    study = inspected()
    (person,) = qualified(study, 1)
    held = holding(person, first(study))
    overtaking = Overtaking()
    record = revisions.record_revision

    def recording(**given: Any) -> StoryRevision:
        made = record(**given)
        overtaking.wait_inside(seconds=2)
        return made

    monkeypatch.setattr(revisions, "record_revision", recording)

    def give_back() -> object:
        return actions.give_back_story(enrollment=person, assignment_id=held.pk)

    outcomes = race(lambda: revise(held.story), overtaking.overtake(give_back))
    return Story.objects.get(pk=held.story_id), outcomes


def test_a_slot_that_becomes_free_during_a_revision_is_offered_to_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    old, outcomes = freed_meanwhile(monkeypatch)
    assert not errors(outcomes), outcomes
    assert (old.is_old_version, old.has_free_slot) == (True, False)
    assert not broken("slots", "votes", "reviews")


def test_control_the_database_refuses_to_offer_it_where_the_code_would(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(StoryQuerySet, "wanted", StoryQuerySet.main)
    old, outcomes = freed_meanwhile(monkeypatch)
    assert [type(error) for error in errors(outcomes)] == [IntegrityError]
    assert (old.is_old_version, old.has_free_slot) == (True, False)


def overtaken_claim(monkeypatch: pytest.MonkeyPatch) -> tuple[list[bool], list[Any]]:
    """A story is being given out when somebody revises it: was it revised before the lease was made?"""
    study = inspected()
    (person,) = qualified(study, 1)
    next_story = study.stories.main().order_by("order_key").first()
    assert next_story
    overtaking, revised = Overtaking(), list[bool]()
    taken = taken_slots

    def looking(story: int) -> set[int]:
        overtaking.wait_inside(seconds=2)
        revised.append(StoryRevision.objects.exists())
        return taken(story)

    monkeypatch.setattr(serving, "taken_slots", looking)
    outcomes = race(claiming(person), overtaking.overtake(lambda: revise(next_story)))
    return revised, outcomes


def test_a_story_that_is_being_given_out_is_revised_after_that(monkeypatch: pytest.MonkeyPatch) -> None:
    revised, outcomes = overtaken_claim(monkeypatch)
    assert not errors(outcomes), outcomes
    assert revised == [False]
    assert not broken("slots", "votes", "reviews")


def test_control_without_locks_an_old_version_is_given_out(monkeypatch: pytest.MonkeyPatch) -> None:
    without_locks(monkeypatch)
    revised, _outcomes = overtaken_claim(monkeypatch)
    assert revised == [True]
    assert Story.objects.get(is_old_version=True).story_id in leased()


def test_a_revision_waits_for_no_import() -> None:
    study = inspected()
    begun, decided = threading.Event(), threading.Event()

    def file_coming_in() -> None:
        with locks.one_file(study.pk):
            begun.set()
            assert decided.wait(timeout=20)

    def revising() -> Story:
        assert begun.wait(timeout=20)
        try:
            return revise(first(study))
        finally:
            decided.set()

    _none, refusal = race(file_coming_in, revising)
    assert isinstance(refusal, WrongState)
    assert "An import is running" in str(refusal)
    assert revise(first(study)).story_id == "narrative-1.r2"
