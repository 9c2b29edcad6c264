"""Races around hidden checks: everybody is given one at once, and its known answers change meanwhile."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.db import IntegrityError
from django.utils import timezone

import annotation.sql
from annotation import actions, hidden_checks
from annotation.actions import hidden_checks as check_actions, serving
from annotation.errors import WrongState
from annotation.grading import grade
from annotation.models import Assignment, CheckKey, CheckResult, Enrollment, Story, Study
from tests import builders
from tests.annotation.invariants import broken
from tests.concurrency.racing import Overtaking, errors, race, slowly, together, without_locks

pytestmark = pytest.mark.django_db(transaction=True)

STRICT = builders.ACCEPTED | {"q1": ["no"]}


@pytest.fixture
def study(monkeypatch: pytest.MonkeyPatch) -> Study:
    """A study whose only check is everybody's first story."""
    made = builders.make_study(stories=12, votes_per_story=2)
    builders.add_checks(made, 1, warn_percent=50)
    monkeypatch.setattr(hidden_checks, "is_due", lambda *, position, **_: position == 1)
    return made


def claiming(person: Enrollment) -> Callable[[], object]:
    return lambda: actions.assign_next_story(enrollment=person, now=timezone.now())


def answering(held: Assignment) -> Callable[[], object]:
    return lambda: actions.record_vote_and_assign_next(
        assignment_id=held.pk, enrollment=held.enrollment, submitted=builders.ALL_YES, now=timezone.now()
    )


def replacing(check: Story) -> Callable[[], object]:
    return lambda: actions.set_check_key(story=check, accepted=STRICT, by=None, now=timezone.now())


def test_everybody_is_given_and_answers_the_same_check_at_once(study: Study) -> None:
    people = builders.qualified(study, 4)

    assert not errors(race(*map(claiming, people)))
    held = list(Assignment.objects.select_related("enrollment"))
    assert len(held) == 4
    assert {assignment.slot for assignment in held} == {None}
    assert not errors(race(*map(answering, held)))

    assert CheckResult.objects.count() == 4
    assert Assignment.objects.filter(state=Assignment.State.LEASED, slot__isnull=False).count() == 4
    assert not broken("slots", "votes", "hidden_checks")


def test_one_person_in_many_tabs_is_given_one_check(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    (person,) = builders.qualified(study)
    slowly(monkeypatch, serving, "next_check")

    assert not errors(race(*[claiming(person)] * 2))

    assert Assignment.objects.get().story.role == Story.Role.CHECK


def test_control_without_locks_the_constraint_refuses_the_other_tabs(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    (person,) = builders.qualified(study)
    without_locks(monkeypatch)
    together(monkeypatch, serving, "next_check", 2)

    outcomes = race(*[claiming(person)] * 2)

    assert [type(error) for error in errors(outcomes)] == [IntegrityError]
    assert Assignment.objects.count() == 1


def _answer_while_the_key_is_replaced(study: Study, monkeypatch: pytest.MonkeyPatch) -> list[object]:
    (person,) = builders.qualified(study)
    held = builders.claim(person)
    overtaking = Overtaking()

    def slow_grade(*args: object) -> object:
        overtaking.wait_inside(seconds=1)
        return grade(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(check_actions, "grade", slow_grade)
    return race(answering(held), overtaking.overtake(replacing(held.story)))


def test_nobody_is_judged_by_known_answers_that_are_being_replaced(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, refused = _answer_while_the_key_is_replaced(study, monkeypatch)

    assert isinstance(refused, WrongState)
    assert "already been used" in str(refused)
    assert CheckResult.objects.get().key.state == CheckKey.State.IN_USE
    assert not broken("slots", "votes", "hidden_checks")


def test_control_without_the_shared_lock_the_known_answers_change_under_the_answer(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    unlocked = annotation.sql._CHECK_KEY.replace("FOR SHARE OF key", "")
    monkeypatch.setattr(annotation.sql, "_CHECK_KEY", unlocked)

    outcomes = _answer_while_the_key_is_replaced(study, monkeypatch)

    assert not errors(outcomes)
    assert CheckResult.objects.get().key.state == CheckKey.State.REPLACED


def test_an_answer_that_waited_for_other_known_answers_is_judged_by_these(study: Study) -> None:
    people = builders.qualified(study, 2)
    held = [builders.claim(person) for person in people]

    outcomes = race(*map(answering, held), replacing(held[0].story))

    assert all("already been used" in str(error) for error in errors(outcomes))
    assert CheckResult.objects.filter(key__state=CheckKey.State.IN_USE).count() == 2
    assert not broken("slots", "votes", "hidden_checks")


def _claim_while_the_end_of_a_block_suspends(monkeypatch: pytest.MonkeyPatch) -> Enrollment:
    """Another tab has looked at the person, and not yet at what they hold, when the last answer of a block
    comes; the check in the block was failed.
    """
    made = builders.make_study(stories=20, votes_per_story=2)
    builders.add_checks(made, 1, minimum=1, suspend_percent=50)
    (person,) = builders.qualified(made)
    builders.work_through(person, 4, on_checks=builders.answers(q1="no", q3="no"))
    held = builders.claim(person)
    overtaking = Overtaking()
    lock_held = annotation.sql.lock_held

    def interrupted(theirs: Enrollment) -> Assignment | None:
        overtaking.wait_inside(seconds=0.5)
        return lock_held(theirs)

    monkeypatch.setattr(serving, "lock_held", interrupted)
    assert not errors(race(claiming(person), overtaking.overtake(answering(held))))
    person.refresh_from_db()
    return person


def test_another_tab_is_given_nothing_by_an_answer_that_suspends(monkeypatch: pytest.MonkeyPatch) -> None:
    person = _claim_while_the_end_of_a_block_suspends(monkeypatch)

    assert person.state == Enrollment.State.SUSPENDED
    assert not person.assignments.filter(state=Assignment.State.LEASED).exists()
    assert not broken("slots", "votes", "hidden_checks")


def test_control_without_locks_another_tab_holds_a_story_of_somebody_suspended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    without_locks(monkeypatch)
    person = _claim_while_the_end_of_a_block_suspends(monkeypatch)

    assert person.state == Enrollment.State.SUSPENDED
    assert person.assignments.filter(state=Assignment.State.LEASED).exists()
