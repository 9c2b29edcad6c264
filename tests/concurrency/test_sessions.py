"""A platform's word about a visit races what the person and others do at that moment."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from annotation import actions, rules
from annotation.actions import exclusions, work_sessions
from annotation.models import Assignment, Enrollment, Story, Vote, WorkSession
from annotation.protocols.validity import ValidityProtocol
from annotation.rules import Refusal
from tests import builders
from tests.annotation.invariants import broken
from tests.concurrency.racing import (
    Overtaking,
    errors,
    race,
    slowly,
    together,
    wait_until_blocking,
    without_locks,
)

pytestmark = pytest.mark.django_db(transaction=True)
State = Assignment.State


def session_of(person: Enrollment, limit: int = 3) -> WorkSession:
    now = timezone.now()
    return actions.open_session(
        enrollment=person,
        story_limit=limit,
        counts_unconfirmed=False,
        identity_claimed=True,
        framed=True,
        expires_at=now + timedelta(hours=1),
        now=now,
    )


def claim(session: WorkSession) -> Assignment:
    given = actions.assign_next_story(
        enrollment=session.enrollment, now=timezone.now(), session_id=session.pk
    )
    assert isinstance(given, Assignment)
    return given


def sending(assignment: Assignment, session: WorkSession) -> Callable[[], Any]:
    return lambda: actions.record_vote(
        assignment_id=assignment.pk,
        enrollment=session.enrollment,
        submitted=builders.ALL_YES,
        now=timezone.now(),
        session_id=session.pk,
    )


def claiming(person: Enrollment) -> Callable[[], Assignment | Refusal]:
    return lambda: actions.assign_next_story(enrollment=person, now=timezone.now())


def confirming(session: WorkSession) -> Callable[[], Any]:
    return lambda: actions.confirm_session(session=session, by=None, now=timezone.now())


def doubting(session: WorkSession) -> Callable[[], Any]:
    return lambda: actions.doubt_session(session=session, reason="unlisted", by=None, now=timezone.now())


@pytest.fixture
def at_work() -> tuple[WorkSession, Assignment]:
    """Somebody in the middle of the only story, which wants one vote."""
    study = builders.make_study(stories=1, votes_per_story=1)
    session = session_of(builders.qualified(study)[0])
    return session, claim(session)


def test_a_form_races_the_doubt_about_its_visit(
    at_work: tuple[WorkSession, Assignment], monkeypatch: pytest.MonkeyPatch
) -> None:
    session, assignment = at_work
    slowly(monkeypatch, ValidityProtocol, "read_form")

    outcomes = race(sending(assignment, session), doubting(session))

    assert not errors(outcomes)
    assert Assignment.objects.get().state == State.DOUBTED
    assert assignment.story.__class__.objects.get().has_free_slot
    assert not broken("slots", "votes", "session_counts_its_votes")


def test_control_without_locks_a_vote_of_a_doubted_visit_keeps_its_slot(
    at_work: tuple[WorkSession, Assignment], monkeypatch: pytest.MonkeyPatch
) -> None:
    session, assignment = at_work
    without_locks(monkeypatch)
    reading = Overtaking()
    read_form = ValidityProtocol.read_form

    def slow(*args: Any) -> Any:
        reading.wait_inside()
        return read_form(*args)

    monkeypatch.setattr(ValidityProtocol, "read_form", slow)

    race(sending(assignment, session), reading.overtake(doubting(session)))

    assert Assignment.objects.get().state == State.PENDING


def test_one_form_sent_twice_at_once_counts_once_in_its_session(
    at_work: tuple[WorkSession, Assignment], monkeypatch: pytest.MonkeyPatch
) -> None:
    session, assignment = at_work
    slowly(monkeypatch, ValidityProtocol, "read_form")

    outcomes = race(*[sending(assignment, session)] * 2)

    assert not errors(outcomes)
    assert (Vote.objects.count(), WorkSession.objects.get().stories_submitted) == (1, 1)
    assert not broken("slots", "votes", "session_counts_its_votes")


@pytest.fixture
def doubted(monkeypatch: pytest.MonkeyPatch) -> tuple[WorkSession, list[Enrollment]]:
    """A vote whose visit was doubted, and two people who could be given its slot, the story's only one."""
    study = builders.make_study(stories=1, votes_per_story=1)
    first, *others = builders.qualified(study, 3)
    session = session_of(first)
    sending(claim(session), session)()
    doubting(session)()
    slowly(monkeypatch, rules, "lowest_free_slot")
    return session, others


def test_a_visit_confirmed_after_all_races_others_for_its_slot(
    doubted: tuple[WorkSession, list[Enrollment]],
) -> None:
    session, others = doubted

    outcomes = race(confirming(session), *map(claiming, others))

    assert not errors(outcomes)
    assert Assignment.objects.living().count() == 1
    assert Assignment.objects.get(session=session).state in (State.SUBMITTED, State.DISPLACED)
    assert not broken("slots", "votes", "session_counts_its_votes")


def test_control_without_locks_the_constraint_refuses_a_second_holder(
    doubted: tuple[WorkSession, list[Enrollment]], monkeypatch: pytest.MonkeyPatch
) -> None:
    session, others = doubted
    without_locks(monkeypatch)
    together(monkeypatch, rules, "lowest_free_slot", 3)

    outcomes = race(confirming(session), *map(claiming, others))

    assert any(isinstance(error, IntegrityError) for error in errors(outcomes))
    assert Assignment.objects.living().count() == 1


def test_two_sweeps_that_disagree_leave_votes_as_their_session_says(monkeypatch: pytest.MonkeyPatch) -> None:
    study = builders.make_study(stories=3, votes_per_story=1)
    session = session_of(builders.qualified(study)[0])
    for _ in range(3):
        sending(claim(session), session)()
    slowly(monkeypatch, exclusions, "lock_stories")

    outcomes = race(confirming(session), doubting(session), confirming(session), doubting(session))

    assert not errors(outcomes)
    session.refresh_from_db()
    expected = {"confirmed": State.SUBMITTED, "doubted": State.DOUBTED}[session.state]
    assert set(Assignment.objects.values_list("state", flat=True)) == {expected}
    assert not broken("slots", "votes", "session_counts_its_votes")


def test_doubts_about_people_who_hold_what_the_other_answered_do_not_block_one_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    study = builders.make_study(stories=2, votes_per_story=2)
    sessions = [session_of(person) for person in builders.qualified(study, 2)]
    first = claim(sessions[0])
    sending(first, sessions[0])()
    answered = claim(sessions[1])
    assert answered.story == first.story
    held = claim(sessions[0])
    sending(answered, sessions[1])()
    assert claim(sessions[1]).story == held.story
    for owner in (work_sessions, exclusions):
        slowly(monkeypatch, owner, "lock_stories")

    outcomes = race(*map(doubting, sessions))

    assert not errors(outcomes)
    assert not Assignment.objects.living().exists()
    assert not broken("slots", "votes", "session_counts_its_votes")


def test_several_visits_are_given_up_without_a_later_story_locked_before_an_earlier_one() -> None:
    """Else somebody who locks both in the order of their ids and the retake wait for each other."""
    (person,) = builders.qualified(builders.make_study(stories=2))
    visits = {}
    for session in (session_of(person), session_of(person)):
        held = claim(session)
        sending(held, session)()
        visits[held.story_id] = session
    first, last = sorted(visits)
    overtaking = Overtaking()

    @transaction.atomic
    def give_up() -> None:
        now = timezone.now()
        actions.reset_test(enrollment=person, asks_consent=True, by=None, now=now, reason="Somebody else.")
        for story in (last, first):
            actions.doubt_session(session=visits[story], reason="Somebody else.", by=None, now=now)

    def hold_the_first() -> object:
        with transaction.atomic():
            Story.objects.select_for_update(no_key=True).get(pk=first)
            overtaking.wait_inside(0)
            wait_until_blocking()
            return Story.objects.select_for_update(no_key=True, nowait=True).get(pk=last)

    outcomes = race(hold_the_first, overtaking.overtake(give_up))

    assert not errors(outcomes)
    assert not Assignment.objects.living().exists()
