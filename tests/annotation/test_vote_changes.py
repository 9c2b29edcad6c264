"""Changing answers, and freezing them: what the actions promise."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest

from annotation import actions, rules
from annotation.errors import CannotChange, NotTheirs
from annotation.models import Enrollment, Event, Study, SurplusReason, Vote
from annotation.protocols.base import IncompleteForm
from annotation.rules import NoChange
from tests import builders
from tests.annotation.answered import (
    ANSWERED,
    BEGAN,
    LATER,
    NO,
    answered,
    change,
    given,
    nothing_stored,
    outcome,
    rows,
)
from tests.annotation.invariants import broken

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    return builders.make_study(stories=3, votes_per_story=1, now=BEGAN)


# Changing


def test_a_change_is_a_new_revision_and_the_old_one_stays_byte_for_byte(study: Study) -> None:
    person, first = answered(study)
    unchanged = ("annotation_vote", "annotation_answer", "annotation_assignment", "annotation_enrollment")
    before = {table: rows(table) for table in unchanged}

    second = change(person, first)

    assert given(first) == builders.ALL_YES
    assert given(second) == NO
    assert second.answers.filter(counts_against=True).count() == 2
    assert rows("annotation_vote")[:1] == before["annotation_vote"]
    assert rows("annotation_answer")[:4] == before["annotation_answer"]
    assert rows("annotation_assignment") == before["annotation_assignment"]
    assert rows("annotation_enrollment") == before["annotation_enrollment"]
    assert not broken()


def test_a_change_keeps_the_context_of_the_first_answer_is_in_the_log_and_credits_nothing(
    study: Study,
) -> None:
    person, first = answered(study)

    second = change(person, first)
    second.refresh_from_db()

    assert (second.submitted_at, second.first_submitted_at) == (LATER, ANSWERED)
    for field in ("seconds_on_task", "served_at", "order_position", "story_hash", "protocol_version"):
        assert getattr(second, field) == getattr(first, field)

    event = Event.objects.get(type=Event.Type.VOTE_CHANGED)
    assert (event.study, event.enrollment, event.at) == (study, person, LATER)
    assert (event.subject, event.note) == (f"vote {second.pk}", f"instead of vote {first.pk}")
    person.refresh_from_db()
    assert (person.stories_submitted, person.last_submitted_at) == (1, ANSWERED)


def test_the_newest_revision_decides_about_the_story(study: Study) -> None:
    person, first = answered(study)
    assert outcome(study) == (1, 0, {})

    second = change(person, first)
    assert outcome(study) == (0, 1, {"q2": 1, "q4": 1})
    assert list(Vote.objects.counted()) == [second]

    third = change(person, first, builders.ALL_YES)
    assert (third.revision, outcome(study)) == (3, (1, 0, {}))
    assert list(Vote.objects.counted()) == [third]
    assert [vote.revision for vote in Vote.objects.order_by("pk")] == [1, 2, 3]
    assert not broken()


def test_sending_the_same_answers_stores_nothing(study: Study) -> None:
    person, first = answered(study)
    second = change(person, first)

    with nothing_stored():
        assert change(person, first, NO | {"unasked": "yes"}) == second


def test_an_incomplete_form_stores_nothing(study: Study) -> None:
    person, first = answered(study)

    with nothing_stored(), pytest.raises(IncompleteForm) as error:
        change(person, first, {"q1": "no", "q2": "perhaps", "q3": "no"})

    assert set(error.value.errors) == {"q2", "q4"}


def test_a_late_vote_stays_surplus_when_it_is_changed(study: Study) -> None:
    leaver, *others = builders.qualified(study, 2, now=BEGAN)
    assignment = builders.claim(leaver, now=BEGAN)
    while Vote.objects.filter(assignment__story=assignment.story).count() == 0:
        builders.vote(others[0], now=LATER)
    receipt = actions.record_vote(
        assignment_id=assignment.pk, enrollment=leaver, submitted=builders.ALL_YES, now=LATER
    )
    assert receipt.vote.surplus_reason == SurplusReason.LATE
    before = outcome(study)

    second = change(leaver, receipt.vote)

    assert (second.revision, second.surplus_reason) == (2, SurplusReason.LATE)
    assert outcome(study) == before
    assert not broken()


def test_a_vote_given_while_suspended_stays_surplus_after_the_suspension(study: Study) -> None:
    (person,) = builders.qualified(study, now=BEGAN)
    assignment = builders.claim(person, now=BEGAN)
    actions.suspend(enrollment=person, by=None, now=BEGAN, reason="too fast")
    receipt = actions.record_vote(
        assignment_id=assignment.pk, enrollment=person, submitted=builders.ALL_YES, now=ANSWERED
    )
    actions.reinstate(enrollment=person, by=None, now=ANSWERED, reason="a mistake")

    assert change(person, receipt.vote).surplus_reason == SurplusReason.NOT_QUALIFIED
    assert outcome(study) == (0, 0, {})


def test_a_clock_that_was_set_back_loses_no_change(study: Study) -> None:
    person, first = answered(study)

    second = change(person, first, now=BEGAN - timedelta(minutes=1))

    assert second.submitted_at == first.submitted_at
    assert list(Vote.objects.counted()) == [second]


def test_answers_may_change_while_the_study_is_paused_or_closed(study: Study) -> None:
    person, first = answered(study)
    actions.pause_study(study=study, by=None, now=LATER)
    change(person, first)
    actions.close_study(study=study, by=None, now=LATER)
    change(person, first, builders.ALL_YES)
    assert outcome(study) == (1, 0, {})


# Refusals


def _suspended(person: Enrollment) -> None:
    actions.suspend(enrollment=person, by=None, now=LATER, reason="too fast")


def _frozen(person: Enrollment) -> None:
    actions.freeze_answers(study=person.study, now=ANSWERED)


def _never(person: Enrollment) -> None:
    Study.objects.filter(pk=person.study_id).update(change_hours=0)


@pytest.mark.parametrize(
    ("put", "at", "reason"),
    [
        pytest.param(_suspended, LATER, NoChange.NOT_QUALIFIED, id="suspended"),
        pytest.param(_frozen, LATER, NoChange.PUBLISHED, id="frozen"),
        pytest.param(_never, ANSWERED, NoChange.TOO_LATE, id="never"),
    ],
)
def test_a_change_is_refused_with_its_reason(
    study: Study, put: Callable[[Enrollment], None], at: datetime, reason: NoChange
) -> None:
    person, first = answered(study)
    put(person)

    with nothing_stored(), pytest.raises(CannotChange) as error:
        change(person, first, now=at)
    assert error.value.reason == reason
    person = Enrollment.objects.select_related("study").get(pk=person.pk)
    assert actions.change_refusal(first, person, now=at) == reason


def test_the_time_for_changes_counts_from_the_first_answer(study: Study) -> None:
    person, first = answered(study)
    day = timedelta(hours=24)

    second = change(person, first, now=ANSWERED + day - timedelta(seconds=1))

    with pytest.raises(CannotChange) as error:
        change(person, second, builders.ALL_YES, now=ANSWERED + day)
    assert error.value.reason == NoChange.TOO_LATE


def test_only_ones_own_answered_stories_can_be_changed(study: Study) -> None:
    _, first = answered(study)
    (other,) = builders.qualified(study, now=BEGAN)
    unanswered = builders.claim(other, now=BEGAN)

    for assignment_id in (first.assignment_id, unanswered.pk, 0, 10**17):
        with nothing_stored(), pytest.raises(NotTheirs):
            actions.change_vote(assignment_id=assignment_id, enrollment=other, submitted=NO, now=LATER)
    assert given(Vote.objects.get()) == builders.ALL_YES


@pytest.mark.parametrize("hours", [0, 1, 24])
def test_the_rule_is_sharp_at_both_ends(hours: int) -> None:
    facts: dict[str, Any] = {
        "enrollment_state": "qualified",
        "first_submitted_at": BEGAN,
        "submitted_at": BEGAN,
        "change_hours": hours,
    }
    end = BEGAN + timedelta(hours=hours)
    moment = timedelta(microseconds=1)
    assert rules.change_refusal(**facts, frozen_at=None, now=end) == NoChange.TOO_LATE
    if hours:
        assert rules.change_refusal(**facts, frozen_at=None, now=end - moment) is None
        assert rules.change_refusal(**facts, frozen_at=BEGAN - moment, now=BEGAN) is None
        assert rules.change_refusal(**facts, frozen_at=BEGAN, now=BEGAN) == NoChange.PUBLISHED


# Freezing


def test_a_freeze_takes_in_answers_of_a_machine_whose_clock_is_ahead(study: Study) -> None:
    person, first = answered(study)

    frozen = actions.freeze_answers(study=study, now=ANSWERED - timedelta(seconds=3))

    assert frozen.answers_frozen_at == ANSWERED
    assert Event.objects.get(type=Event.Type.ANSWERS_FROZEN).at == ANSWERED
    with pytest.raises(CannotChange):
        change(person, first)


def test_a_freeze_never_moves_back(study: Study) -> None:
    actions.freeze_answers(study=study, now=LATER)

    assert actions.freeze_answers(study=study, now=BEGAN).answers_frozen_at == LATER


def test_a_freeze_leaves_other_studies_alone(study: Study) -> None:
    person, first = answered(study)
    other = builders.make_study("other", now=BEGAN)
    answered(other)

    actions.freeze_answers(study=other, now=LATER)

    assert change(person, first).revision == 2
