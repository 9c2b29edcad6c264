"""Somebody types a worker's id: what they do in that name must not shut the worker out for good."""

from __future__ import annotations

import pytest
from django.utils import timezone

from annotation import actions as annotation_actions
from annotation.errors import ReasonMissing, WrongState
from annotation.models import Enrollment, Event, WorkSession
from dashboard.actions import let_take_test_again
from dashboard.people.detail import retaking_of
from qualification import queries as qualification_queries
from qualification.models import Attempt
from qualification.pay import time_at_test
from qualification.rates import rates_of
from recruitment import actions
from recruitment.links import visit_path
from recruitment.marketplace import Status, Work
from recruitment.models import Campaign, Grant, Mismatch, Visit
from tests import builders
from tests.annotation.pages import Browser
from tests.recruitment.platform_visits import address, come, newest_visit, publish_campaign, qualifying_study

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("client")]
VICTIM = "A2VICTIM"


@pytest.fixture(scope="module")
def forged(module_transaction: None) -> Visit:
    """Somebody has taken the test in the victim's name, passed it, and come to the last page."""
    study = qualifying_study("test")
    forger = come(study.campaigns.get(), assignmentId="3FORGED", workerId=VICTIM)
    visit = newest_visit()
    builders.take_test(builders.consent(visit.enrollment))
    forger.open(visit_path(visit).removesuffix("/") + "/hand-in/")
    return visit


@pytest.fixture
def trial(forged: Visit) -> Campaign:
    return Campaign.objects.select_related("study").get()


def said(browser: Browser) -> str:
    return " ".join(browser.document.text_content().split())


def person() -> Enrollment:
    return Enrollment.objects.select_related("study").get()


def again(*, was_somebody_else: bool = True) -> Enrollment:
    return let_take_test_again(
        enrollment=person(),
        was_somebody_else=was_somebody_else,
        reason="It was not them.",
        by=None,
        now=timezone.now(),
    )


def session_of(visit: Visit) -> WorkSession:
    assert visit.session is not None
    visit.session.refresh_from_db()
    return visit.session


def take(browser: Browser) -> None:
    browser.open(browser.document.xpath("//a[contains(@class, 'button')]/@href")[0])
    browser.press("Start the test")
    browser.press("Save and continue", **builders.ALL_YES)
    browser.press("Hand in")


def test_who_comes_second_hands_that_test_in_and_is_told_whom_to_write_to(trial: Campaign) -> None:
    real = come(trial, assignmentId="3REAL", workerId=VICTIM)
    real.open(visit_path(newest_visit()).removesuffix("/") + "/hand-in/")

    assert real.heading == "One last step: hand it in"
    assert "If it wasn’t you, write to study@example.org, and they will let you in." in said(real)
    assert retaking_of(person())["two_visits"]


def test_who_comes_second_elsewhere_is_told_whom_to_write_to(trial: Campaign) -> None:
    other = publish_campaign(trial.study, purpose="test", title="Once more")

    real = come(other, assignmentId="3REAL", workerId=VICTIM)

    assert (real.page.status_code, real.heading) == (403, "You have taken this test already")
    assert "If it wasn’t you, write to study@example.org, and they will let you in." in said(real)
    assert Event.objects.get(type=Event.Type.VISIT_REFUSED).note == "test_taken"


def test_who_came_second_goes_on_in_that_visit_once_the_test_is_theirs(trial: Campaign) -> None:
    come(trial, assignmentId="3REAL", workerId=VICTIM)

    again()

    assert [session_of(visit).state for visit in Visit.objects.order_by("pk")] == ["doubted", "open"]
    real = come(trial, assignmentId="3REAL", workerId=VICTIM)
    assert real.heading == "Do you agree to take part?"
    real.press("I agree")
    take(real)
    real.open(visit_path(newest_visit()) + "hand-in/")
    assert real.heading == "One last step: hand it in"
    assert "If it wasn’t you" not in said(real)


def test_once_a_test_is_proven_nobody_is_asked_who_it_was(trial: Campaign) -> None:
    annotation_actions.confirm_session(session=session_of(newest_visit()), by=None, now=timezone.now())

    real = come(trial, assignmentId="3OTHER", workerId=VICTIM)

    assert real.heading == "You have taken this test already"
    assert not Mismatch.objects.exists()


def test_the_real_worker_takes_the_test_and_the_forger_nothing_more(trial: Campaign) -> None:
    forger = Browser()
    come(trial, assignmentId="3REAL", workerId=VICTIM)
    void = Attempt.objects.get()
    answers = list(void.answers.values())

    again()

    assert person().state == Enrollment.State.INVITED
    void.refresh_from_db()
    assert (void.state, void.passed, void.was_theirs) == (Attempt.State.VOID, True, False)
    assert list(void.answers.values()) == answers
    assert not Mismatch.objects.filter(settled_at=None).exists()
    forged = Visit.objects.select_related("session").earliest("pk")
    assert (session_of(forged).state, forged.decided_manually) == (WorkSession.State.DOUBTED, True)

    real = come(trial, assignmentId="3REAL", workerId=VICTIM)
    assert real.heading == "Do you agree to take part?"
    forger.open(address(trial, assignmentId="3FORGED", workerId=VICTIM))  # before the real worker agrees
    assert forger.heading == "Nothing to hand in"
    forger.open(visit_path(forged).removesuffix("/") + "/consent/")
    assert forger.heading == "Nothing to hand in"
    real.press("I agree")
    forger.open(visit_path(forged).removesuffix("/") + "/qualification/")
    assert forger.heading == "Nothing to hand in"
    take(real)
    assert real.heading == "You passed"
    assert list(Attempt.objects.order_by("pk").values_list("number", "state")) == [
        (1, "void"),
        (1, "submitted"),
    ]
    funnel = qualification_queries.tested(trial.study)
    assert (funnel.started, funnel.submitted, funnel.passed) == (1, 1, 1)
    (rates,) = rates_of(trial.study)
    assert (rates.started, rates.submitted, rates.passed, rates.later_tries) == (1, 1, 1, 0)
    assert Attempt.objects.to_be_paid().get().state == Attempt.State.SUBMITTED


def test_the_group_is_left_until_they_have_passed_again(trial: Campaign) -> None:
    given = actions.grants.grant(
        campaign=trial, annotator=person().annotator, kind=Grant.Kind.QUALIFIED, now=timezone.now()
    )
    assert given is not None

    again()

    assert Grant.objects.get().state == Grant.State.LEAVING
    real = come(trial, assignmentId="3REAL", workerId=VICTIM)
    real.press("I agree")
    builders.take_test(person())
    actions.grants.grant(
        campaign=trial, annotator=person().annotator, kind=Grant.Kind.QUALIFIED, now=timezone.now()
    )
    assert Grant.objects.get().state == Grant.State.REQUESTED


def test_consent_that_somebody_else_declined_is_asked_of_who_comes(trial: Campaign) -> None:
    forger = come(trial, assignmentId="3SECOND", workerId="A2VICTIM2")
    forger.press("I do not agree")
    assert newest_visit().enrollment.state == Enrollment.State.DECLINED

    real = come(trial, assignmentId="3REAL", workerId="A2VICTIM2")

    assert real.heading == "Do you agree to take part?"
    real.press("I agree")
    assert newest_visit().enrollment.state == Enrollment.State.CONSENTED


def test_an_own_test_that_is_void_is_paid_and_keeps_consent_and_visit(trial: Campaign) -> None:
    paid = time_at_test(person())
    assert paid is not None

    again(was_somebody_else=False)

    assert person().state == Enrollment.State.CONSENTED
    assert session_of(newest_visit()).state == WorkSession.State.OPEN
    assert time_at_test(person()) == paid
    builders.take_test(person())
    assert person().state == Enrollment.State.QUALIFIED
    assert Attempt.objects.to_be_paid().count() == 2


def test_one_who_took_it_again_is_qualified_or_not_by_the_newest(trial: Campaign) -> None:
    again(was_somebody_else=False)
    now = timezone.now()
    annotation_actions.suspend(enrollment=person(), by=None, now=now, reason="Let us talk.")

    annotation_actions.reinstate(enrollment=person(), by=None, now=now, reason="We talked.")

    assert person().state == Enrollment.State.CONSENTED


def test_it_takes_a_reason_and_somebody_who_is_neither_suspended_nor_gone(trial: Campaign) -> None:
    now = timezone.now()
    with pytest.raises(ReasonMissing):
        let_take_test_again(enrollment=person(), was_somebody_else=True, reason=" ", by=None, now=now)
    assert person().state == Enrollment.State.QUALIFIED
    assert Attempt.objects.get().state == Attempt.State.SUBMITTED
    annotation_actions.withdraw(enrollment=person(), now=now)
    with pytest.raises(WrongState):
        again()
    assert Attempt.objects.get().state == Attempt.State.SUBMITTED


def test_what_the_platform_lists_as_handed_in_is_not_given_up(trial: Campaign) -> None:
    visit = newest_visit()
    assert visit.posting is not None
    work = Work(visit.remote_id, VICTIM, Status.SUBMITTED, visit.posting.remote_id, visit.receipt)
    actions.reconciliation.record_submission(campaign=trial, work=work, now=timezone.now())

    again()

    visit.refresh_from_db()
    assert (session_of(visit).state, visit.decided_manually) == (WorkSession.State.OPEN, False)
