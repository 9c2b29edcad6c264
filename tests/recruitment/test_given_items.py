"""Recruiting where stories are given by name: who waits for one has work, and holds it for nobody else."""

from __future__ import annotations

import pytest
from django.utils import timezone

from annotation import actions
from annotation.models import Study
from dashboard.recruitment.amounts_due import people_with_work
from recruitment.places import has_story_for_newcomers, places_of
from recruitment.reconciliation.queries import done_with_stories
from recruitment.visit_endings import may_go_on
from tests import builders
from tests.annotation.serving import NOW, ask
from tests.annotation.test_given_items import give, ids, served_to
from tests.recruitment.test_designs import desk_of, leave

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("client")]


def test_whoever_waits_for_a_given_story_is_not_done() -> None:
    study = builders.make_study(stories=6, votes_per_story=2)
    one, two = builders.qualified(study, 2)
    for person in (one, two):
        give(study, person, ids(0, 1, 2, 3))
        builders.work_through(person, 4)
    give(study, one, ids(4, 5))  # now they have had every story that is free
    assert not done_with_stories(study)
    assert may_go_on(one)
    served_to(one)
    assert set(done_with_stories(study)) == {one}


def test_whoever_waits_for_a_given_story_did_not_come_in_vain() -> None:
    study = builders.make_study(stories=2, votes_per_story=1)
    one, two = builders.qualified(study, 2)
    give(study, one, ids(0, 1))
    assert places_of(study).left == 0, "what is given needs nobody else"
    assert not may_go_on(two)
    assert list(people_with_work(study)) == [two]


def test_a_study_for_named_people_recruits_nobody_for_what_is_free() -> None:
    study = builders.make_study(stories=3, votes_per_story=1, serving_order=Study.ServingOrder.GIVEN)
    one, two = builders.qualified(study, 2)
    give(study, one, ids(0))
    assert not has_story_for_newcomers(study)
    assert set(done_with_stories(study)) == {two}
    assert list(people_with_work(study)) == [two]
    ask(one)
    assert set(done_with_stories(study)) == {two}
    actions.withdraw(enrollment=one, now=NOW)
    assert set(done_with_stories(study)) == {one, two}


def test_a_campaign_goes_on_for_somebody_from_it_who_was_given_stories() -> None:
    study = builders.make_study(stories=2, votes_per_story=1)
    with desk_of(study, stories_per_visit=1) as desk:
        visit = desk.come()
        give(study, visit.enrollment, ids(0, 1))
        assert not has_story_for_newcomers(study), "they are here already"
        desk.answer(visit)
        assert not set(done_with_stories(study))
        leave(desk, visit)
        assert has_story_for_newcomers(study), "they can come back"
        again = desk.come_again(visit)
        assert may_go_on(again.enrollment, again.session, now=timezone.now())
