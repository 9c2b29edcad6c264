"""Races of exclusions: with the person who answers, with who claims a freed slot, with one another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import IntegrityError
from django.utils import timezone

from annotation import actions, rules
from annotation.actions import exclusions, serving
from annotation.actions.votes import store_vote
from annotation.models import Assignment, Enrollment, Story, SurplusReason, Vote, VoteExclusion
from annotation.rules import Refusal
from tests import builders
from tests.annotation.invariants import broken
from tests.concurrency.racing import ROUNDS, Overtaking, errors, race, slowly, together, without_locks
from tests.worlds import built_once

pytestmark = pytest.mark.django_db(transaction=True)

State = Assignment.State


def excluding(person: Enrollment) -> Callable[[], VoteExclusion]:
    return lambda: actions.exclude_annotator(
        enrollment=person, reason="random", shown_reason="Thank you.", by=None, now=timezone.now()
    )


def readmitting(person: Enrollment) -> Callable[[], exclusions.Recount]:
    return lambda: actions.readmit_annotator(
        enrollment=person, reason="a mistake", by=None, now=timezone.now()
    )


def claiming(person: Enrollment) -> Callable[[], Assignment | Refusal]:
    return lambda: actions.assign_next_story(enrollment=person, now=timezone.now())


def submitting(held: Assignment) -> Callable[[], object]:
    return lambda: actions.record_vote_and_assign_next(
        assignment_id=held.pk, enrollment=held.enrollment, submitted=builders.ALL_YES, now=timezone.now()
    )


def state_of(assignment: Assignment) -> str:
    return Assignment.objects.values_list("state", flat=True).get(pk=assignment.pk)


# Excluding somebody who is just sending an answer


@pytest.fixture
@built_once
def held() -> Assignment:
    """A story in the hands of somebody who has answered another one."""
    study = builders.make_study(stories=3, votes_per_story=1)
    (person,) = builders.qualified(study)
    builders.vote(person)
    return builders.claim(person)


@pytest.mark.parametrize("round", ROUNDS)
def test_an_answer_sent_while_its_author_is_excluded_does_not_count(held: Assignment, round: int) -> None:
    outcomes = race(submitting(held), excluding(held.enrollment))

    assert not errors(outcomes)
    assert Vote.objects.counted().count() == 0
    vote = Vote.objects.get(assignment=held)
    expected = State.SURPLUS if vote.surplus_reason == SurplusReason.NOT_QUALIFIED else State.EXCLUDED
    assert state_of(held) == expected
    assert not Assignment.objects.living().exists()
    assert not Story.objects.filter(has_free_slot=False).exists()
    assert not broken("slots", "votes", "reviews")


def test_control_without_locks_an_answer_outlives_the_exclusion(
    held: Assignment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The vote is stored when the exclusion has looked at what counts, and counts ever after."""
    without_locks(monkeypatch)
    overtaking = Overtaking()
    store = store_vote

    def overtaken(**values: Any) -> Vote:
        overtaking.wait_inside(seconds=2)
        return store(**values)

    monkeypatch.setattr(serving, "store_vote", overtaken)

    race(submitting(held), overtaking.overtake(excluding(held.enrollment)))

    assert Vote.objects.counted().filter(assignment__enrollment=held.enrollment).exists()
    assert "excluded_vote_does_not_count" in broken("reviews")


# Claiming the slot that an exclusion frees


@pytest.fixture
@built_once
def full() -> list[Enrollment]:
    """Two people who gave two stories both their votes, and three who would like one."""
    study = builders.make_study(stories=2, votes_per_story=2)
    people = builders.qualified(study, 5)
    builders.answer_everything(people[:2])
    return people


def test_a_freed_slot_goes_to_one_person(full: list[Enrollment], monkeypatch: pytest.MonkeyPatch) -> None:
    excluded, _other, *waiting = full
    slowly(monkeypatch, rules, "lowest_free_slot")

    outcomes = race(excluding(excluded), *map(claiming, waiting))

    assert not errors(outcomes)
    given = [outcome for outcome in outcomes[1:] if isinstance(outcome, Assignment)]
    assert len(given) <= 2
    more = [claiming(person)() for person in waiting]
    assert sum(isinstance(outcome, Assignment) for outcome in more) == 2
    assert Assignment.objects.living().count() == 4
    assert not broken("slots", "votes", "reviews")


# Readmitting somebody while the slot is being taken


@pytest.fixture
@built_once
def freed() -> tuple[Enrollment, Enrollment]:
    """Somebody excluded from the only story, and somebody who would like it."""
    study = builders.make_study(stories=1, votes_per_story=1)
    excluded, other = builders.qualified(study, 2)
    builders.vote(excluded)
    excluding(excluded)()
    return excluded, other


@pytest.mark.parametrize("round", ROUNDS)
def test_a_slot_is_given_back_or_given_out_never_both(
    freed: tuple[Enrollment, Enrollment], round: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    excluded, other = freed
    slowly(monkeypatch, rules, "lowest_free_slot")

    outcomes = race(readmitting(excluded), claiming(other))

    assert not errors(outcomes)
    back, given = outcomes
    assert isinstance(back, exclusions.Recount)
    assert (back.counting, back.displaced) == ((0, 1) if isinstance(given, Assignment) else (1, 0))
    assert Assignment.objects.living().count() == 1
    assert not broken("slots", "votes", "reviews")


def test_control_without_locks_the_constraint_refuses_one(
    freed: tuple[Enrollment, Enrollment], monkeypatch: pytest.MonkeyPatch
) -> None:
    without_locks(monkeypatch)
    together(monkeypatch, rules, "lowest_free_slot", 2)

    outcomes = race(readmitting(freed[0]), claiming(freed[1]))

    assert [type(error) for error in errors(outcomes)] == [IntegrityError]


# Two researchers at once


@pytest.fixture
@built_once
def crosswise() -> list[Enrollment]:
    """Two people each of whom has answered the story that the other holds."""
    study = builders.make_study(stories=2, votes_per_story=2)
    one, other, third = builders.qualified(study, 3)
    builders.vote(one)
    between = builders.claim(third)
    builders.vote(other)
    actions.release_lease(study=study, assignment_id=between.pk, by=None, now=timezone.now())
    held = [builders.claim(one), builders.claim(other)]
    answered = [Assignment.objects.get(enrollment=person, state=State.SUBMITTED) for person in (one, other)]
    assert [at.story_id for at in held] == [at.story_id for at in reversed(answered)]
    return [one, other]


def test_two_exclusions_of_people_who_hold_what_the_other_answered_take_turns(
    crosswise: list[Enrollment], monkeypatch: pytest.MonkeyPatch
) -> None:
    slowly(monkeypatch, exclusions, "release_assignments")

    outcomes = race(*map(excluding, crosswise))

    assert not errors(outcomes)
    assert not Assignment.objects.living().exists()
    assert Story.objects.filter(has_free_slot=True).count() == 2
    assert not broken("slots", "votes", "reviews")


def test_one_person_is_excluded_once_and_readmitted_once(full: list[Enrollment]) -> None:
    person = full[0]
    assert len(errors(race(*[excluding(person)] * 2))) == 1
    assert len(errors(race(*[readmitting(person)] * 2))) == 1
    assert VoteExclusion.objects.count() == 1
    assert Vote.objects.counted().count() == 4
    assert not broken("slots", "votes", "reviews")
