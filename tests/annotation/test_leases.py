"""A researcher ends a lease: the slot is free at once, and no answer is lost by it."""

from __future__ import annotations

import pytest
from django.utils import timezone

from accounts.actions import ensure_researcher
from annotation import actions
from annotation.errors import LeaseOver
from annotation.models import Assignment, Event, SurplusReason
from tests import builders

pytestmark = pytest.mark.django_db


def test_a_released_story_goes_to_the_next_person_and_the_log_says_who_did_it() -> None:
    study = builders.make_study(stories=1, votes_per_story=1)
    holder, waiting = builders.qualified(study, 2)
    held = builders.claim(holder)
    boss = ensure_researcher(username="boss", password="a long enough password")
    actions.release_lease(study=study, assignment_id=held.pk, by=boss, now=timezone.now())
    assert builders.claim(waiting).story == held.story
    event = Event.objects.get(type=Event.Type.LEASE_RELEASED)
    assert (event.actor, event.enrollment, event.subject) == (boss, holder, held.story.story_id)


@pytest.mark.parametrize("taken", [False, True])
def test_what_its_holder_answers_all_the_same_is_stored(taken: bool) -> None:
    study = builders.make_study(stories=1, votes_per_story=1)
    holder, other = builders.qualified(study, 2)
    held = builders.claim(holder)
    actions.release_lease(study=study, assignment_id=held.pk, by=None, now=timezone.now())
    if taken:
        builders.vote(other)
    receipt = actions.record_vote(
        assignment_id=held.pk, enrollment=holder, submitted=builders.ALL_YES, now=timezone.now()
    )
    assert receipt.vote.surplus_reason == (SurplusReason.LATE if taken else SurplusReason.NONE)


def test_only_a_lease_of_the_study_that_is_still_held_ends() -> None:
    study, other = builders.make_study(stories=2), builders.make_study("other", stories=2)
    holder = builders.qualified(study)[0]
    answered = builders.vote(holder).vote.assignment
    held = builders.claim(holder)
    elsewhere = builders.claim(builders.qualified(other)[0])
    for assignment in (answered, elsewhere):
        with pytest.raises(LeaseOver, match="Nobody holds this story any more"):
            actions.release_lease(study=study, assignment_id=assignment.pk, by=None, now=timezone.now())
    actions.release_lease(study=study, assignment_id=held.pk, by=None, now=timezone.now())
    with pytest.raises(LeaseOver):
        actions.release_lease(study=study, assignment_id=held.pk, by=None, now=timezone.now())
    states = dict(Assignment.objects.values_list("pk", "state"))
    assert states == {answered.pk: "submitted", held.pk: "expired", elsewhere.pk: "leased"}
    assert Event.objects.filter(type=Event.Type.LEASE_RELEASED).count() == 1
