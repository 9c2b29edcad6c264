"""Leaving a study, and having one's personal data deleted: what the actions promise."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection

from accounts.models import Annotator, Environment, PlatformIdentity
from annotation import actions
from annotation.errors import WrongState
from annotation.models import Assignment, Enrollment, Event, Story, Study, SurplusReason, Vote
from annotation.rules import Reason, Refusal
from tests import builders
from tests.annotation.answered import ANSWERED, BEGAN, LATER, NO, answered, given, nothing_stored, outcome
from tests.annotation.invariants import broken

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    return builders.make_study(stories=3, votes_per_story=1, now=BEGAN)


def test_a_held_story_is_free_for_others_at_once(study: Study) -> None:
    leaver, other = builders.qualified(study, 2, now=BEGAN)
    held = builders.claim(leaver, now=BEGAN)

    actions.withdraw(enrollment=leaver, now=ANSWERED)

    assert builders.claim(other, now=ANSWERED).story == held.story
    refused = actions.assign_next_story(enrollment=leaver, now=ANSWERED)
    assert refused == Refusal(Reason.WITHDRAWN)
    assert not broken()


def test_an_answer_sent_after_leaving_is_stored_as_surplus_and_credited(study: Study) -> None:
    (leaver,) = builders.qualified(study, now=BEGAN)
    held = builders.claim(leaver, now=BEGAN)
    actions.withdraw(enrollment=leaver, now=BEGAN)

    receipt = actions.record_vote(
        assignment_id=held.pk, enrollment=leaver, submitted=builders.ALL_YES, now=ANSWERED
    )

    assert receipt.vote.surplus_reason == SurplusReason.NOT_QUALIFIED
    held.refresh_from_db()
    assert held.state == Assignment.State.SURPLUS
    assert Enrollment.objects.get(pk=leaver.pk).stories_submitted == 1
    assert not Vote.objects.counted().exists()
    assert Story.objects.get(pk=held.story_id).has_free_slot
    assert not broken()


def test_what_was_saved_before_leaving_still_counts(study: Study) -> None:
    person, _ = answered(study)

    actions.withdraw(enrollment=person, now=LATER)

    assert outcome(study) == (1, 0, {})


def test_leaving_twice_is_leaving_once(study: Study) -> None:
    person, _ = answered(study)
    actions.withdraw(enrollment=person, now=LATER)

    with nothing_stored():
        actions.withdraw(enrollment=person, now=LATER + timedelta(hours=1))


@pytest.mark.parametrize("state", list(Enrollment.State))
def test_people_can_leave_from_wherever_they_are(state: Enrollment.State) -> None:
    study = builders.make_study(stories=1, qualification=1, now=BEGAN)
    (person,) = builders.invite(study, now=BEGAN)
    if state == Enrollment.State.DECLINED:
        actions.decline_consent(enrollment=person, now=BEGAN)
    elif state != Enrollment.State.INVITED:
        builders.consent(person, now=BEGAN)
    if state == Enrollment.State.FAILED:
        builders.take_test(person, NO, now=BEGAN)
    if state in (Enrollment.State.QUALIFIED, Enrollment.State.SUSPENDED):
        builders.take_test(person, now=BEGAN)
    if state == Enrollment.State.SUSPENDED:
        actions.suspend(enrollment=person, by=None, now=BEGAN, reason="too fast")
    if state == Enrollment.State.WITHDRAWN:
        actions.withdraw(enrollment=person, now=BEGAN)
    assert Enrollment.objects.get(pk=person.pk).state == state

    left = actions.withdraw(enrollment=person, now=LATER)

    assert left.state == Enrollment.State.WITHDRAWN
    assert Event.objects.filter(type=Event.Type.ENROLLMENT_WITHDRAWN, enrollment=person).count() == 1
    with pytest.raises(WrongState):
        actions.reinstate(enrollment=person, by=None, now=LATER, reason="come back")


# Being forgotten


PLATFORM_ID = "5f3a9c0de1b2f00dcafe"
ADDRESS = "unmistakable.person@example.org"


def known(annotator: Annotator, platform: str, person: str) -> None:
    PlatformIdentity.objects.create(
        annotator=annotator, platform=platform, environment=Environment.LIVE, person=person, created_at=BEGAN
    )


def found_in(*texts: str) -> set[str]:
    """Return the tables in whose rows one of the texts stands, in columns of whatever type."""
    found = set()
    with connection.cursor() as cursor:
        cursor.execute("SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'")
        for (table,) in cursor.fetchall():
            cursor.execute(
                f'SELECT count(*) FROM "{table}" one WHERE lower(one::text) LIKE ANY (%s)',  # noqa: S608
                [[f"%{text.lower()}%" for text in texts]],
            )
            if cursor.fetchone()[0]:
                found.add(table)
    return found


def test_nothing_that_says_who_somebody_is_outlives_being_forgotten(study: Study) -> None:
    person, vote = answered(study)
    known(person.annotator, PlatformIdentity.Platform.PROLIFIC, PLATFORM_ID)
    known(person.annotator, PlatformIdentity.Platform.EMAIL, ADDRESS)
    assert found_in(PLATFORM_ID) == found_in(ADDRESS) == {"accounts_platformidentity"}

    actions.forget(annotator=person.annotator, now=LATER)

    assert found_in(PLATFORM_ID, ADDRESS) == set()
    assert Annotator.objects.get(pk=person.annotator_id).erased_at == LATER
    assert given(vote) == builders.ALL_YES
    assert outcome(study) == (1, 0, {})
    assert not broken("slots", "votes", "people")


def test_being_forgotten_ends_every_study_of_the_person_and_nobody_elses(study: Study) -> None:
    person, _ = answered(study)
    other_study = builders.make_study("other", now=BEGAN)
    second = actions.enroll(study=other_study, annotator=person.annotator, now=BEGAN)
    builders.consent(second, now=BEGAN)
    held = builders.claim(second, now=BEGAN)
    (bystander,) = builders.qualified(study, now=BEGAN)
    known(bystander.annotator, PlatformIdentity.Platform.PROLIFIC, "somebody-else")

    actions.forget(annotator=person.annotator, now=LATER)

    states = dict(Enrollment.objects.values_list("pk", "state"))
    assert states[person.pk] == states[second.pk] == Enrollment.State.WITHDRAWN
    assert states[bystander.pk] == Enrollment.State.QUALIFIED
    assert PlatformIdentity.objects.get().person == "somebody-else"
    held.refresh_from_db()
    assert held.state == Assignment.State.EXPIRED
    assert not broken("slots", "people")


def test_being_forgotten_twice_is_harmless(study: Study) -> None:
    person, _ = answered(study)
    actions.forget(annotator=person.annotator, now=LATER)

    with nothing_stored():
        actions.forget(annotator=person.annotator, now=LATER + timedelta(hours=1))

    assert Annotator.objects.get(pk=person.annotator_id).erased_at == LATER


def test_somebody_who_left_can_still_be_forgotten(study: Study) -> None:
    person, _ = answered(study)
    known(person.annotator, PlatformIdentity.Platform.EMAIL, ADDRESS)
    actions.withdraw(enrollment=person, now=LATER)

    actions.forget(annotator=person.annotator, now=LATER)

    assert found_in(ADDRESS) == set()
