"""Whoever is stopped in the middle of the test: they finish it, or hand in what there is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from annotation import actions as annotation_actions
from annotation.models import Enrollment, Study
from qualification import actions as qualification_actions
from recruitment.links import visit_path
from recruitment.models import Campaign, Mismatch, Payment, Visit
from recruitment.reconciliation.queries import to_approve
from tests import builders
from tests.annotation.pages import Browser
from tests.doubles.mturk.server import MTurkDouble
from tests.recruitment.campaigns import TEST
from tests.recruitment.handed_in import Desk
from tests.recruitment.platform_visits import come, newest_visit, publish_campaign
from tests.recruitment.test_two_visits import said

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("client")]
NOTHING = "nothing for you to do"


@pytest.fixture
def study() -> Study:
    return builders.make_study(stories=4, qualification=3, pay_rate=15)


@pytest.fixture
def trial(study: Study) -> Campaign:
    return publish_campaign(study, purpose="test")


def begun(trial: Campaign) -> Browser:
    """A worker who has answered two of the three test stories."""
    browser = come(trial)
    browser.press("I agree")
    browser.open(browser.document.xpath("//a[contains(@class, 'button')]/@href")[0])
    browser.press("Start the test")
    for _story in range(2):
        browser.press("Save and continue", **builders.ALL_YES)
    return browser


def person() -> Enrollment:
    return Enrollment.objects.get()


def suspend() -> None:
    annotation_actions.suspend(enrollment=person(), reason="We talk.", by=None, now=timezone.now())


@pytest.mark.parametrize("stop", [annotation_actions.pause_study, annotation_actions.close_study])
def test_who_loads_the_work_again_in_a_stopped_study_finishes_the_test(
    trial: Campaign, stop: Callable[..., Study]
) -> None:
    begun(trial)
    stop(study=trial.study, by=None, now=timezone.now())

    again = come(trial)

    assert again.heading == "Test story 3 of 3"
    for page in ("", "stories/", "hand-in/"):
        again.open(visit_path(newest_visit()) + page)
        assert NOTHING not in said(again)
        assert again.heading == "Test story 3 of 3"
    again.press("Save and continue", **builders.ALL_YES)
    again.press("Hand in")
    assert again.heading == "You passed"
    again.open(visit_path(newest_visit()) + "hand-in/")
    assert again.heading == "One last step: hand it in"


def test_whoever_stops_in_the_test_may_hand_in_what_there_is_and_need_not_return_it(trial: Campaign) -> None:
    browser = begun(trial)
    browser.open(visit_path(newest_visit()) + "you/")
    assert "To return it" not in said(browser)
    assert "a researcher decides the pay" in said(browser)
    browser.open(browser.document.xpath("//p[@class='finish']/a/@href")[0])
    assert browser.heading == "One last step: hand it in"
    assert "a researcher decides the pay" in said(browser)
    assert newest_visit().ended_by == Visit.End.LEFT
    browser.open(visit_path(newest_visit()) + "stories/")
    assert browser.heading == "Test story 3 of 3", "they can still go on"


def test_who_is_suspended_in_the_test_hands_in_what_there_is(trial: Campaign) -> None:
    browser = begun(trial)
    suspend()

    browser.open(visit_path(newest_visit()))
    assert NOTHING not in said(browser)
    assert "a researcher decides the pay" in said(browser)
    browser.open(visit_path(newest_visit()) + "hand-in/")

    assert browser.heading == "One last step: hand it in"
    assert "a researcher decides the pay" in said(browser)
    assert newest_visit().handed_in_at is not None


def test_who_never_began_the_test_still_has_nothing_to_hand_in(trial: Campaign) -> None:
    browser = come(trial)
    browser.press("I agree")
    suspend()

    browser.open(visit_path(newest_visit()) + "hand-in/")

    assert browser.heading == "Nothing to hand in"


@pytest.fixture
def desk(study: Study) -> Iterator[Desk]:
    with MTurkDouble() as double:
        yield Desk(double, study, replace(TEST, seats=3))


def began_at(desk: Desk) -> Visit:
    visit = desk.come()
    attempt = qualification_actions.start_attempt(enrollment=visit.enrollment, now=timezone.now())
    entry = attempt.round.round_stories.select_related("story")[0]
    qualification_actions.save_answers(
        attempt=attempt, round_story=entry, submitted=builders.ALL_YES, session_id=visit.session_id
    )
    return visit


def test_a_test_handed_in_unfinished_waits_for_a_researcher(desk: Desk) -> None:
    visit = began_at(desk)
    suspend()
    Client().get(f"{visit_path(visit)}hand-in/")
    desk.submit(visit)

    desk.sweep()
    desk.sweep()

    assert Mismatch.objects.get().kind == Mismatch.Kind.PARTIAL
    assert not Payment.objects.exists()
    assert not to_approve(desk.campaign).exists()


def test_one_that_was_never_handed_in_is_listed(desk: Desk) -> None:
    visit = began_at(desk)
    suspend()
    assert visit.session is not None
    for minutes in (5, 15):
        desk.sweep(now=visit.session.expires_at + timedelta(minutes=minutes))

    assert Mismatch.objects.get().kind == Mismatch.Kind.NOT_HANDED_IN


def test_who_is_suspended_after_the_whole_test_is_paid_for_it(desk: Desk) -> None:
    visit = desk.come()
    builders.take_test(visit.enrollment)
    Client().get(f"{visit_path(visit)}hand-in/")
    desk.submit(visit)
    suspend()

    desk.sweep()

    assert not Mismatch.objects.exists()
    assert Payment.objects.get().kind == Payment.Kind.APPROVAL
