"""Leases end at a researcher's request or their holder's, and last while the holder's page is open."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from accounts.actions import ensure_researcher
from accounts.rate_limits import LEASE_RENEWALS
from annotation import actions
from annotation.errors import WrongState
from annotation.models import Assignment, Event, SurplusReason
from annotation.rules import Refusal
from annotation.views import work
from tests import builders
from tests.annotation.pages import at

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
        with pytest.raises(WrongState, match="This story’s lease has already ended"):
            actions.release_lease(study=study, assignment_id=assignment.pk, by=None, now=timezone.now())
    actions.release_lease(study=study, assignment_id=held.pk, by=None, now=timezone.now())
    with pytest.raises(WrongState, match="already ended"):
        actions.release_lease(study=study, assignment_id=held.pk, by=None, now=timezone.now())
    states = dict(Assignment.objects.values_list("pk", "state"))
    assert states == {answered.pk: "submitted", held.pk: "expired", elsewhere.pk: "leased"}
    assert Event.objects.filter(type=Event.Type.LEASE_RELEASED).count() == 1


# While its page is open ------------------------------------------------------------------------------


def test_an_open_page_keeps_its_story_but_not_for_ever() -> None:
    study = builders.make_study(stories=1, votes_per_story=1, lease_minutes=30)
    holder, waiting = builders.qualified(study, 2)
    held = builders.claim(holder)
    for minutes in (20, 40, 110):
        now = held.served_at + timedelta(minutes=minutes)
        assert actions.renew_lease(enrollment=holder, assignment_id=held.pk, now=now)
        assert isinstance(actions.assign_next_story(enrollment=waiting, now=now), Refusal)
    held.refresh_from_db()
    assert held.lease_expires_at == held.served_at + timedelta(minutes=120)
    late = held.served_at + timedelta(minutes=120)
    assert not actions.renew_lease(enrollment=holder, assignment_id=held.pk, now=late)
    assert isinstance(actions.assign_next_story(enrollment=waiting, now=late), Assignment)


def test_a_renewal_never_shortens_a_lease_that_was_asked_for_again() -> None:
    study = builders.make_study(stories=1, lease_minutes=30)
    (holder,) = builders.qualified(study)
    held = builders.claim(holder)
    nearly = held.served_at + timedelta(minutes=119)
    actions.assign_next_story(enrollment=holder, now=nearly)
    assert actions.renew_lease(enrollment=holder, assignment_id=held.pk, now=nearly)
    held.refresh_from_db()
    assert held.lease_expires_at == nearly + timedelta(minutes=30)


def test_only_a_lease_of_ones_own_is_renewed_by_one_statement(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    study = builders.make_study(stories=2)
    holder, other = builders.qualified(study, 2)
    held, others = builders.claim(holder), builders.claim(other)
    now = timezone.now()
    with django_assert_num_queries(1):
        assert actions.renew_lease(enrollment=holder, assignment_id=held.pk, now=now)
    assert not actions.renew_lease(enrollment=holder, assignment_id=others.pk, now=now)
    actions.suspend(enrollment=holder, by=None, now=now, reason="test")
    assert not actions.renew_lease(enrollment=holder, assignment_id=held.pk, now=now)
    others.refresh_from_db()
    assert others.lease_expires_at == others.served_at + study.lease


@pytest.mark.usefixtures("one_moment")
def test_the_address_of_renewals_says_when_to_stop_and_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    study = builders.make_study(stories=2)
    (holder,) = builders.qualified(study)
    browser = at(holder, "stories/")
    (form,) = browser.document.xpath("//form[@data-renew]")
    assert form.get("data-every") == "600", "a third of half an hour"
    held = {"held": form.form_values()[0][1]}
    assert browser.open(form.get("data-renew"), held).status_code == 204
    assert browser.open(form.get("data-renew"), {"held": "x"}).status_code == 409
    monkeypatch.setattr(work, "LEASE_RENEWALS", replace(LEASE_RENEWALS, name="test", most=1))
    assert browser.open(form.get("data-renew"), held).status_code == 204
    assert browser.open(form.get("data-renew"), held).status_code == 429


def test_stopping_frees_the_story_at_once_and_leads_to_the_ending() -> None:
    study = builders.make_study(stories=1, votes_per_story=1)
    holder, waiting = builders.qualified(study, 2)
    browser = at(holder, "stories/")
    assert isinstance(actions.assign_next_story(enrollment=waiting, now=timezone.now()), Refusal)
    (stop,) = [form for form in browser.forms if "Stop here" in form.text_content()]
    browser.press("Stop here")
    assert browser.heading == "Thank you"
    story = builders.claim(waiting)
    browser.open(stop.get("action"), dict(stop.form_values()))  # an old page frees nothing of anybody else
    story.refresh_from_db()
    assert story.state == Assignment.State.LEASED


def test_a_page_of_a_story_answered_long_ago_does_not_free_the_story_held_now() -> None:
    (holder,) = builders.qualified(builders.make_study(stories=2))
    old = builders.vote(holder).vote.assignment
    held = builders.claim(holder)
    actions.give_back_story(enrollment=holder, assignment_id=old.pk)
    held.refresh_from_db()
    assert held.state == Assignment.State.LEASED


def test_whoever_leaves_at_a_hidden_check_gives_the_rest_of_their_set_back() -> None:
    study = builders.make_study(stories=8, opened=False)
    actions.set_design(study=study, by_column="severity_original", load={"1": 8}, by=None, now=timezone.now())
    builders.add_checks(study, 3)
    actions.open_study(study=study, by=None, now=timezone.now())
    (person,) = builders.qualified(study)
    met = [builders.claim(person).story.role]
    while met.count("check") < 2:  # the first may come before the set is reserved
        builders.vote(person)
        met.append(builders.claim(person).story.role)
    assert person.assignments.filter(state=Assignment.State.RESERVED).exists()
    actions.release_expired_leases(now=timezone.now() + study.lease)
    assert not person.assignments.filter(state=Assignment.State.RESERVED).exists()
