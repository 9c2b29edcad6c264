"""Votes that stop counting and count again: what becomes of them, of their slots and of their author."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError, ProgrammingError, transaction
from django.utils import timezone

from annotation import actions
from annotation.actions import exclusions
from annotation.errors import ReasonMissing, WrongState
from annotation.models import Assignment, Enrollment, Event, Story, Study, SurplusReason, Vote, VoteExclusion
from annotation.rules import Reason, Refusal
from tests import builders
from tests.annotation.invariants import broken
from tests.worlds import built_once

pytestmark = pytest.mark.django_db

State = Assignment.State
TOLD = "We have stopped collecting your answers in this study."


def exclude(person: Enrollment, *, told: str = TOLD) -> VoteExclusion:
    return actions.exclude_annotator(
        enrollment=person, reason="answers at random", shown_reason=told, by=None, now=timezone.now()
    )


def readmit(person: Enrollment) -> exclusions.Recount:
    return actions.readmit_annotator(
        enrollment=person, reason="it was a mistake", by=None, now=timezone.now()
    )


def next_of(person: Enrollment) -> Assignment | Refusal:
    return actions.assign_next_story(enrollment=person, now=timezone.now())


def states(person: Enrollment) -> list[str]:
    return list(
        Assignment.objects.filter(enrollment=person)
        .order_by("order_position")
        .values_list("state", flat=True)
    )


def counted(study: Study) -> int:
    return Vote.objects.of_study(study).counted().count()


@built_once
def filled() -> list[Enrollment]:
    people = builders.qualified(builders.make_study(stories=2, votes_per_story=2), 3)
    builders.answer_everything(people[:2])
    return people


@pytest.fixture
def people() -> list[Enrollment]:
    """Two people who have filled both stories, and one who has given nothing."""
    return filled()


@pytest.fixture
def study(people: list[Enrollment]) -> Study:
    return people[0].study


def test_excluded_votes_stop_counting_and_their_slots_are_served_again(
    study: Study, people: list[Enrollment]
) -> None:
    first, _, third = people
    rows = list(Vote.objects.order_by("pk").values())
    assert next_of(third) == Refusal(Reason.ALL_DONE)

    exclude(first)

    assert states(first) == [State.EXCLUDED] * 2
    assert counted(study) == 2
    assert list(Vote.objects.order_by("pk").values()) == rows, "the votes themselves are as they were"
    assert not broken("slots", "reviews")
    assert builders.answer_everything([third]) == 2
    assert counted(study) == 4
    assert not Story.objects.filter(has_free_slot=True).exists()
    assert not broken("slots", "reviews")


def test_who_is_excluded_is_told_politely_credited_and_served_nothing(people: list[Enrollment]) -> None:
    first = people[0]
    exclude(first)
    first.refresh_from_db()
    assert first.state == Enrollment.State.SUSPENDED
    assert first.suspension_reason == TOLD
    assert first.stories_submitted == 2
    assert next_of(first) == Refusal(Reason.SUSPENDED)


def test_the_story_in_hand_goes_to_others_and_a_late_answer_is_kept_as_surplus() -> None:
    study = builders.make_study(stories=2, votes_per_story=2)
    holder, other, third = builders.qualified(study, 3)
    held = builders.claim(holder)
    exclude(holder)
    builders.answer_everything([other, third])
    receipt = actions.record_vote(
        assignment_id=held.pk, enrollment=holder, submitted=builders.ALL_YES, now=timezone.now()
    )
    assert receipt.vote.surplus_reason == SurplusReason.NOT_QUALIFIED
    assert counted(study) == 4
    assert not broken("slots", "reviews")


def test_sending_an_excluded_answer_again_gives_its_first_receipt(people: list[Enrollment]) -> None:
    vote = Vote.objects.filter(assignment__enrollment=people[0]).first()
    assert vote is not None
    exclude(people[0])
    receipt = actions.record_vote(
        assignment_id=vote.assignment_id, enrollment=people[0], submitted=builders.ALL_YES, now=timezone.now()
    )
    assert receipt.vote == vote


def test_readmitted_votes_count_again_and_their_author_goes_on(
    study: Study, people: list[Enrollment]
) -> None:
    first, _, third = people
    exclude(first)
    builders.import_rows(study, [builders.story_row(9)])

    readmission = readmit(first)

    assert (readmission.counting, readmission.displaced) == (2, 0)
    assert states(first) == [State.SUBMITTED] * 2
    assert counted(study) == 4
    first.refresh_from_db()
    assert first.state == Enrollment.State.QUALIFIED
    assert isinstance(next_of(first), Assignment)
    assert isinstance(next_of(third), Assignment)
    assert not broken("slots", "reviews")


@pytest.mark.parametrize("fill", [builders.vote, builders.claim], ids=["answered", "held"])
def test_a_vote_whose_slot_was_filled_meanwhile_is_surplus(
    study: Study, people: list[Enrollment], fill: Callable[[Enrollment], object]
) -> None:
    first, _, third = people
    exclude(first)
    fill(third)

    readmission = readmit(first)

    assert (readmission.counting, readmission.displaced) == (1, 1)
    assert sorted(states(first)) == [State.DISPLACED, State.SUBMITTED]
    assert Assignment.objects.living().count() == 4
    assert not broken("slots", "reviews")


def test_a_story_is_never_served_again_to_who_was_excluded_from_it(people: list[Enrollment]) -> None:
    person = people[0]
    exclude(person)
    readmit(person)
    vote = Vote.objects.filter(assignment__enrollment=person)[0]
    actions.exclude_vote(assignment=vote.assignment, reason="careless", by=None, now=timezone.now())
    assert Story.objects.get(pk=vote.assignment.story_id).has_free_slot
    assert next_of(person) == Refusal(Reason.ALL_DONE)


def test_one_vote_is_taken_out_and_in_by_itself(study: Study, people: list[Enrollment]) -> None:
    first = people[0]
    one = Assignment.objects.filter(enrollment=first)[0]
    now = timezone.now()
    assert actions.exclude_vote(assignment=one, reason="careless", by=None, now=now)
    assert actions.exclude_vote(assignment=one, reason="careless", by=None, now=now) is None
    assert counted(study) == 3
    first.refresh_from_db()
    assert first.state == Enrollment.State.QUALIFIED

    exclude(first)
    assert counted(study) == 2
    readmit(first)
    assert counted(study) == 3, "its own exclusion still stands"
    exclude(first)
    back = actions.readmit_vote(assignment=one, reason="fine after all", by=None, now=now)
    assert back is not None
    assert back.counting == 0, "its author is still excluded"
    readmit(first)
    assert counted(study) == 4
    assert actions.readmit_vote(assignment=one, reason="fine after all", by=None, now=now) is None
    assert not broken("slots", "reviews")


def test_somebody_suspended_before_stays_suspended(people: list[Enrollment]) -> None:
    first = people[0]
    actions.suspend(enrollment=first, by=None, now=timezone.now(), reason="too fast")
    exclude(first)
    readmit(first)
    first.refresh_from_db()
    assert (first.state, first.suspension_reason) == (Enrollment.State.SUSPENDED, "too fast")


def test_votes_of_somebody_who_left_are_excluded_and_readmitted(
    study: Study, people: list[Enrollment]
) -> None:
    first = people[0]
    actions.withdraw(enrollment=first, now=timezone.now())
    exclude(first)
    assert counted(study) == 2
    readmit(first)
    assert counted(study) == 4
    first.refresh_from_db()
    assert first.state == Enrollment.State.WITHDRAWN
    assert not broken("slots", "reviews")


def test_what_makes_no_sense_is_refused(study: Study, people: list[Enrollment]) -> None:
    first = people[0]
    with pytest.raises(WrongState, match="not excluded"):
        readmit(first)
    for reason in (" ", "a\0b"):
        with pytest.raises(ReasonMissing, match="1 to 300"):
            actions.exclude_annotator(
                enrollment=first, reason=reason, shown_reason=TOLD, by=None, now=timezone.now()
            )
    with pytest.raises(ReasonMissing, match="1 to 300"):
        actions.suspend(enrollment=first, reason="a\0b", by=None, now=timezone.now())
    with pytest.raises(ReasonMissing, match="The participant reads it"):
        exclude(first, told=" ")
    with pytest.raises(WrongState, match="invited"):
        exclude(builders.invite(study)[0])
    exclude(first)
    with pytest.raises(WrongState, match="already"):
        exclude(first)
    with pytest.raises(WrongState, match="Lift the exclusion"):
        actions.reinstate(enrollment=first, by=None, now=timezone.now(), reason="please")
    assert not broken("slots", "reviews")


def test_each_step_is_in_the_log_with_its_reason(people: list[Enrollment]) -> None:
    exclusion = exclude(people[0])
    readmit(people[0])
    told = Event.objects.filter(subject=f"exclusion {exclusion.pk}").order_by("pk")
    assert list(told.values_list("type", "note", "enrollment")) == [
        ("annotator_excluded", "answers at random", people[0].pk),
        ("annotator_readmitted", "it was a mistake", people[0].pk),
    ]


def test_a_lifted_exclusion_never_changes_again(people: list[Enrollment]) -> None:
    exclusion = exclude(people[0])
    rows = VoteExclusion.objects.filter(pk=exclusion.pk)
    with pytest.raises(ProgrammingError, match="pgtrigger"), transaction.atomic():
        rows.update(reason="another")
    readmit(people[0])
    with pytest.raises(ProgrammingError, match="pgtrigger"), transaction.atomic():
        rows.update(lifted_because="another")
    with pytest.raises(ProgrammingError, match="pgtrigger"), transaction.atomic():
        rows.delete()


def test_the_database_holds_one_standing_exclusion_each(people: list[Enrollment]) -> None:
    exclusion = exclude(people[0])
    again = VoteExclusion(enrollment=people[0], reason="again", excluded_at=timezone.now())
    with pytest.raises(IntegrityError, match="one_standing_exclusion_per_person"), transaction.atomic():
        again.save()
    cases: dict[str, dict[str, Any]] = {
        "votes_are_excluded_for_a_reason": {"reason": ""},
        "exclusion_is_lifted_for_a_reason_or_stands": {"lifted_at": timezone.now()},
        "one_vote_suspends_nobody": {
            "assignment": Assignment.objects.filter(enrollment=people[0])[0],
            "suspended": True,
        },
    }
    for name, wrong in cases.items():
        fields = {"enrollment": people[1], "reason": "x", "excluded_at": exclusion.excluded_at} | wrong
        with pytest.raises(IntegrityError, match=name), transaction.atomic():
            VoteExclusion.objects.create(**fields)


def test_a_clock_that_was_set_back_lifts_all_the_same(people: list[Enrollment]) -> None:
    exclude(people[0])
    early = timezone.now() - timedelta(days=1)
    actions.readmit_annotator(enrollment=people[0], reason="mistake", by=None, now=early)
    exclusion = VoteExclusion.objects.get()
    assert exclusion.lifted_at == exclusion.excluded_at
