"""Whoever is stopped in the middle of the test: they finish it, or hand in what there is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta

import pytest
from django.utils import timezone

from annotation import actions as annotation_actions
from annotation.models import Enrollment, Study
from qualification import actions as qualification_actions
from recruitment.links import visit_path
from recruitment.models import Mismatch, Payment, Visit
from recruitment.reconciliation.queries import to_approve
from tests import builders
from tests.annotation.pages import Browser
from tests.doubles.mturk.server import MTurkDouble
from tests.recruitment.campaigns import TEST
from tests.recruitment.handed_in import Desk
from tests.recruitment.test_two_visits import said

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("client")]
NOTHING, LAST, HAND_IN = "nothing for you to do", "Test story 2 of 2", "One last step: hand it in"


@pytest.fixture(scope="module")
def built(module_transaction: None) -> Iterator[Desk]:
    """A campaign for a test of two stories."""
    study = builders.make_study(stories=1, qualification=2, pay_rate=15)
    with MTurkDouble() as double:
        yield Desk(double, study, replace(TEST, seats=3))


@pytest.fixture
def visit(desk: Desk) -> Visit:
    """A worker who has answered one of the two test stories."""
    visit = desk.come()
    attempt = qualification_actions.start_attempt(enrollment=visit.enrollment, now=timezone.now())
    entry = attempt.round.round_stories.select_related("story")[0]
    qualification_actions.save_answers(
        attempt=attempt, round_story=entry, submitted=builders.ALL_YES, session_id=visit.session_id
    )
    return visit


def opened(visit: Visit, page: str = "") -> Browser:
    browser = Browser()
    browser.open(visit_path(visit) + page)
    return browser


def person() -> Enrollment:
    return Enrollment.objects.get()


def suspend() -> None:
    annotation_actions.suspend(enrollment=person(), reason="We talk.", by=None, now=timezone.now())


@pytest.mark.parametrize(
    "stop",
    [annotation_actions.close_study, pytest.param(annotation_actions.pause_study, marks=pytest.mark.torture)],
)
def test_who_loads_the_work_again_in_a_stopped_study_finishes_the_test(
    desk: Desk, visit: Visit, stop: Callable[..., Study]
) -> None:
    stop(study=desk.study, by=None, now=timezone.now())

    for page in ("", "stories/", "hand-in/"):
        again = opened(visit, page)
        assert NOTHING not in said(again)
        assert again.heading == LAST
    again.press("Save and continue", **builders.ALL_YES)
    again.press("Hand in")
    assert again.heading == "You passed"
    assert opened(visit, "hand-in/").heading == HAND_IN


def test_whoever_stops_in_the_test_may_hand_in_what_there_is_and_need_not_return_it(visit: Visit) -> None:
    browser = opened(visit, "you/")
    assert "To return the assignment" not in said(browser)
    assert "a researcher decides the pay" in said(browser)
    browser.open(browser.document.xpath("//p[@class='finish']/a/@href")[0])
    assert browser.heading == HAND_IN
    assert "a researcher decides the pay" in said(browser)
    visit.refresh_from_db()
    assert visit.ended_by == Visit.End.LEFT
    assert opened(visit, "stories/").heading == LAST, "they can still go on"


def test_who_is_suspended_in_the_test_hands_in_what_there_is_and_a_researcher_decides(
    desk: Desk, visit: Visit
) -> None:
    suspend()
    told = said(opened(visit))
    assert NOTHING not in told
    assert "a researcher decides the pay" in told
    last_page = opened(visit, "hand-in/")
    assert last_page.heading == HAND_IN
    assert "a researcher decides the pay" in said(last_page)
    desk.submit(visit)

    for _time in range(2):
        desk.sweep()

    assert Mismatch.objects.get().kind == Mismatch.Kind.PARTIAL
    assert not Payment.objects.exists()
    assert not to_approve(desk.campaign).exists()


def test_who_is_suspended_in_the_test_and_never_hands_it_in_is_listed(desk: Desk, visit: Visit) -> None:
    suspend()
    assert visit.session is not None
    for minutes in (5, 15):
        desk.sweep(now=visit.session.expires_at + timedelta(minutes=minutes))

    assert Mismatch.objects.get().kind == Mismatch.Kind.NOT_HANDED_IN


def test_who_never_began_the_test_still_has_nothing_to_hand_in(desk: Desk) -> None:
    visit = desk.come()
    suspend()

    assert opened(visit, "hand-in/").heading == "Nothing to hand in"


def test_who_is_suspended_after_the_whole_test_is_paid_for_it(desk: Desk) -> None:
    visit = desk.come()
    builders.take_test(visit.enrollment)
    opened(visit, "hand-in/")
    desk.submit(visit)
    suspend()

    desk.sweep()

    assert not Mismatch.objects.exists()
    assert Payment.objects.get().kind == Payment.Kind.APPROVAL
