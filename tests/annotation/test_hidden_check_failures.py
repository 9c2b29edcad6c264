"""Failed hidden checks: how they are graded, warn and suspend."""

from __future__ import annotations

import pytest
from django.utils import timezone

from annotation import actions, hidden_checks
from annotation.hidden_checks import CheckRules
from annotation.models import Assignment, CheckResult, Enrollment, Event, Story, Study
from annotation.rules import Reason, Refusal
from tests import builders
from tests.worlds import built_once

pytestmark = pytest.mark.django_db

WRONG = builders.answers(q1="no", q3="no")
NOW = timezone.now()


@pytest.fixture
@built_once
def study() -> Study:
    """Six stories of two votes, and a check, one in five stories."""
    made = builders.make_study(stories=6, votes_per_story=2)
    builders.add_checks(made, 1)
    return made


def roles(stories: list[Story]) -> list[str]:
    return [story.role for story in stories]


def events(study: Study, *types: Event.Type) -> list[Event]:
    return list(Event.objects.filter(study=study, type__in=types).order_by("pk"))


def test_grading_is_that_of_a_test_and_stays_with_every_revision(study: Study) -> None:
    (person,) = builders.qualified(study)
    builders.work_through(person, 5, on_checks=builders.answers(q2="possibly", q4="no"))
    first = CheckResult.objects.get()

    changed = actions.change_vote(
        assignment_id=first.vote.assignment_id,
        enrollment=person,
        submitted=builders.answers(q2="possibly"),
        now=timezone.now(),
    )

    assert not first.passed
    assert (changed.revision, changed.check_result.passed) == (2, True)
    assert CheckResult.objects.of_person(person).counts() == (1, 0)
    (failed,) = events(study, Event.Type.CHECK_FAILED)
    assert (failed.subject, failed.enrollment) == (f"vote {first.pk}", person)


def test_failing_warns_once_and_then_suspends_at_the_end_of_blocks() -> None:
    study = builders.make_study(stories=16, votes_per_story=1)
    builders.add_checks(study, 3, minimum=2, warn_percent=30, suspend_percent=60)
    (person,) = builders.qualified(study)

    def standing() -> tuple[str, int | None]:
        person.refresh_from_db()
        return person.state, person.warned_after

    builders.work_through(person, 5, on_checks=WRONG)
    assert standing() == ("qualified", None)  # one check says too little
    builders.work_through(person, 5)
    assert standing() == ("qualified", 10)
    builders.work_through(person, 4, on_checks=WRONG)
    assert standing() == ("qualified", 10)  # 2 of 3 failed, but the block goes on
    builders.work_through(person, 1)
    assert standing() == ("suspended", 10)
    assert "2 of 3" in person.suspension_reason
    kinds = (Event.Type.ANNOTATOR_WARNED, Event.Type.ENROLLMENT_SUSPENDED)
    assert [event.type for event in events(study, *kinds)] == list(kinds)
    assert {event.actor for event in events(study, *kinds)} == {None}


def test_nothing_comes_directly_after_a_check_that_other_rules_made_the_last_of_a_block(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    study = builders.make_study(stories=12, votes_per_story=1)
    builders.add_checks(study, 1, every=10, minimum=1, warn_percent=50)
    monkeypatch.setattr(hidden_checks, "is_due", lambda *, position, **_: position == 5)  # drawn for 10
    (person,) = builders.qualified(study)
    builders.work_through(person, 4)
    assert builders.claim(person).story.role == Story.Role.CHECK

    actions.change_check_rules(study=study, rules=CheckRules(5, 1, 50), by=None, now=NOW)
    warned = []
    for _ in range(6):
        builders.work_through(person, 1, on_checks=WRONG)
        person.refresh_from_db()
        warned.append(person.warned_after)

    assert warned == [None, None, None, None, None, 10]  # after the stories 5 to 10


def test_somebody_who_is_let_go_on_begins_anew() -> None:
    study = builders.make_study(stories=16, votes_per_story=1)
    builders.add_checks(study, 3, minimum=1, suspend_percent=50)
    (person,) = builders.qualified(study)
    builders.work_through(person, 5, on_checks=WRONG)
    person.refresh_from_db()
    assert person.state == Enrollment.State.SUSPENDED

    actions.reinstate(enrollment=person, by=None, now=timezone.now(), reason="The check was hard.")
    builders.work_through(person, 5)

    person.refresh_from_db()
    assert person.state == Enrollment.State.QUALIFIED
    assert CheckResult.objects.of_person(person).counts() == (1, 0)
    builders.work_through(person, 5, on_checks=WRONG)
    person.refresh_from_db()
    assert person.state == Enrollment.State.SUSPENDED


def test_a_suspended_person_gets_no_other_story_with_the_answer_that_did_it() -> None:
    study = builders.make_study(stories=9)
    builders.add_checks(study, 2, minimum=1, suspend_percent=100)
    (person,) = builders.qualified(study)
    builders.work_through(person, 4, on_checks=WRONG)
    held = builders.claim(person)

    receipt, outcome = actions.record_vote_and_assign_next(
        assignment_id=held.pk, enrollment=person, submitted=builders.ALL_YES, now=timezone.now()
    )

    assert receipt.vote.surplus_reason == ""
    assert isinstance(outcome, Refusal)
    assert outcome.reason == Reason.SUSPENDED
    assert not Assignment.objects.filter(state=Assignment.State.LEASED).exists()
