"""Recruiting for a study with a design: work is a reserved item, or one that is lacked and free."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from django.utils import timezone

from annotation.models import Assignment, Enrollment, Study
from dashboard.recruitment.amounts_due import people_with_work
from recruitment import actions
from recruitment.errors import CannotRecruit
from recruitment.models import Campaign, Visit
from recruitment.places import concurrent_visits, has_story_for_newcomers, places_of
from recruitment.reconciliation.queries import done_with_stories
from recruitment.visit_endings import may_go_on, why_ended
from tests import builders
from tests.annotation.serving import ask
from tests.annotation.test_design import OPEN, SEALED, complete, designed
from tests.doubles.mturk.server import MTurkDouble
from tests.recruitment.campaigns import STORIES, make_campaign
from tests.recruitment.handed_in import Desk

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("client")]


@contextmanager
def desk_of(study: Study, **changes: Any) -> Iterator[Desk]:
    with MTurkDouble() as double:
        yield Desk(double, study, replace(STORIES, seats=18, seats_per_posting=9, **changes))


def leave(desk: Desk, visit: Visit) -> None:
    actions.record_hand_in(visit=visit, now=timezone.now())
    desk.submit(visit)


def test_whoever_has_their_load_leaves_the_group_and_others_stay() -> None:
    study = designed()
    done, begun, new = builders.qualified(study, 3)
    complete(done)
    ask(begun)
    assert set(done_with_stories(study)) == {done}
    for person in (begun, new, *builders.qualified(study, 3)):
        ask(person)
    assert set(done_with_stories(study)) == {done}, "all is reserved: only they can never get more"


def test_who_lacks_only_an_item_that_is_not_free_has_no_work() -> None:
    study = designed(load={SEALED: 1, OPEN: 1}, items={SEALED: 9, OPEN: 1})
    *others, third = builders.qualified(study, 3)
    for person in (*others, third):
        complete(person)
    assert third in done_with_stories(study)
    (new,) = builders.qualified(study)
    assert new not in done_with_stories(study)


def test_a_campaign_goes_on_for_those_with_reserved_items() -> None:
    with desk_of(designed(), stories_per_visit=1) as desk:
        visits = [desk.come() for _ in range(6)]
        for visit in visits:
            desk.answer(visit)
        assert not desk.study.stories.filter(has_free_slot=True).exists()
        assert not has_story_for_newcomers(desk.study), "whoever has items is still here"
        places = places_of(desk.study)
        assert (places.given, places.held, places.left) == (6, 0, 12)
        assert concurrent_visits(Campaign.objects.get()) == 18
        leave(desk, visits[0])
        assert has_story_for_newcomers(desk.study)
        assert not set(done_with_stories(desk.study))
        again = desk.come_again(visits[0])
        assert may_go_on(again.enrollment, again.session, now=timezone.now())
        assert places_of(desk.study).held == 1


def test_items_of_a_whole_set_are_being_given() -> None:
    with desk_of(designed(), stories_per_visit=3) as desk:
        desk.answer(desk.come())
        places = places_of(desk.study)
        assert (places.given, places.held, places.left) == (1, 2, 15)


def test_a_visit_ends_because_no_item_is_left() -> None:
    study = designed(load={SEALED: 1, OPEN: 1}, items={SEALED: 9, OPEN: 1})
    for person in builders.qualified(study, 2):
        complete(person)
    with desk_of(study, stories_per_visit=2) as desk:
        visit = desk.come()
        desk.answer(visit)
        visit = Visit.objects.select_related("session", "enrollment__study", "enrollment__consent").get()
        assert not may_go_on(visit.enrollment, visit.session, now=timezone.now())
        assert why_ended(visit.enrollment, visit.session, now=timezone.now()) == Visit.End.NO_STORY


def test_a_visit_is_for_a_whole_set_or_equal_parts() -> None:
    study = designed()
    for stories in (1, 3):
        assert make_campaign(study, stories_per_visit=stories)
    for stories in (2, 4):
        with pytest.raises(CannotRecruit, match="3 stories"):
            make_campaign(study, stories_per_visit=stories)


def test_nobody_with_a_reserved_item_found_no_work() -> None:
    study = designed()
    people = builders.qualified(study, 7)
    for person in people[:6]:
        assert isinstance(ask(person), Assignment)
    assert list(people_with_work(study)) == [people[6]]
    assert Enrollment.objects.filter(study=study).count() == 7
