"""Rejections: held back for a while, taken back, and overturned from here or on the platform's own pages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.actions import ensure_researcher
from annotation.models import WorkSession
from dashboard.recruitment import queries as queries
from recruitment import actions
from recruitment.actions.payments import REJECTION_WAITS
from recruitment.errors import CannotPay
from recruitment.marketplace import Status, Unreachable, Work
from recruitment.models import Campaign, Mismatch, Payment, Submission
from recruitment.reconciliation.queries import campaigns_to_ask
from recruitment.reconciliation.remedies import Remedy, cases_of, remedies_of
from tests import builders
from tests.doubles.mturk.faults import Fault
from tests.doubles.mturk.server import MTurkDouble
from tests.recruitment.campaigns import STORIES
from tests.recruitment.handed_in import Desk, reject

pytestmark = pytest.mark.django_db
Kind, State = Payment.Kind, Payment.State
OPEN, COUNTS, IS_OUT = WorkSession.State.OPEN, WorkSession.State.CONFIRMED, WorkSession.State.DOUBTED


@pytest.fixture(scope="module")
def built(module_transaction: None) -> Iterator[Desk]:
    """A desk with one submission that waits for a decision, in a posting of one seat."""
    with MTurkDouble() as double:
        desk = Desk(double, builders.make_study(stories=4), replace(STORIES, seats=1, seats_per_posting=1))
        desk.hand_in()
        yield desk


@pytest.fixture
def work(desk: Desk) -> Submission:
    return Submission.objects.get()


@pytest.fixture
def rejected_work(desk: Desk, work: Submission) -> Submission:
    """The submission, rejected from here, and listed so by the platform."""
    desk.send(reject(work))
    work.refresh_from_db()
    assert (work.status, state_of(work)) == (Status.REJECTED, IS_OUT)
    return work


def state_of(work: Submission) -> str:
    return WorkSession.objects.get(visit__submission=work).state


def overturn(work: Submission, *, votes_count: bool = True) -> Payment:
    return actions.overturn_rejection(submission=work, votes_count=votes_count, by=None, now=timezone.now())


def paid(desk: Desk) -> Decimal:
    return queries.money_of(desk.campaign).paid


def test_a_rejection_that_somebody_overturns_there_is_noticed_and_its_votes_can_count(
    desk: Desk, rejected_work: Submission
) -> None:
    """Also in a posting of which every seat is decided, and after the campaign has ended."""
    long_after = timezone.now() + timedelta(days=desk.campaign.days_to_review + 1)
    Campaign.objects.update(state=Campaign.State.ENDED, ended_at=timezone.now() - timedelta(days=20))
    desk.sweep()
    desk.marketplace.overturn(rejected_work.remote_id, person=desk.worker_of(rejected_work))
    assert desk.campaign in campaigns_to_ask(now=timezone.now() + timedelta(hours=2))
    assert desk.campaign not in campaigns_to_ask(now=long_after + timedelta(days=30))
    desk.sweep(now=timezone.now() + timedelta(hours=2))
    mismatch = Mismatch.objects.get()
    assert mismatch.kind == Mismatch.Kind.DECIDED_BY_PLATFORM
    assert (desk.charges(), paid(desk)) == ([("0.25", "0.05")], Decimal("0.25")), "one row, for what left"
    assert Remedy.CONFIRM in remedies_of(cases_of([mismatch])[mismatch.pk])
    actions.confirm_manually(mismatch=mismatch, how="Overturned.", by=None, now=timezone.now())
    assert state_of(rejected_work) == COUNTS


def test_a_rejection_is_overturned_from_here_and_paid_once(desk: Desk, rejected_work: Submission) -> None:
    payment = overturn(rejected_work)
    assert overturn(rejected_work) == payment, "however often it is asked for"
    assert state_of(rejected_work) == IS_OUT, "what is not paid is not used"
    desk.double.faults.next = {"ApproveAssignment": [Fault.DROPPED]}
    with pytest.raises(Unreachable):
        desk.send(payment)
    desk.send(payment)
    desk.sweep(now=timezone.now() + timedelta(hours=2))
    assert (desk.charges(), paid(desk)) == ([("0.25", "0.05")], Decimal("0.25"))
    assert state_of(rejected_work) == COUNTS
    assert list(Payment.objects.order_by("pk").values_list("kind", "state")) == [
        (Kind.REJECTION, State.DONE),
        (Kind.OVERTURN, State.DONE),
    ]
    assert not Mismatch.objects.exists(), "it is our own decision"
    with pytest.raises(CannotPay, match="already decided"):
        reject(rejected_work)
    assert actions.approve(submission=rejected_work, by=None, now=timezone.now()) == payment


def test_its_votes_stay_out_where_that_is_wanted_and_a_stale_list_changes_nothing(
    desk: Desk, rejected_work: Submission
) -> None:
    desk.send(overturn(rejected_work, votes_count=False))
    stale = Work(rejected_work.remote_id, desk.worker_of(rejected_work), Status.REJECTED)
    actions.reconciliation.record_submission(campaign=desk.campaign, work=stale, now=timezone.now())
    rejected_work.refresh_from_db()
    assert (rejected_work.status, state_of(rejected_work)) == (Status.APPROVED, IS_OUT)


def test_work_that_a_colleague_rejected_there_is_overturned_from_its_mismatch(
    desk: Desk, work: Submission
) -> None:
    desk.marketplace.reject(work.remote_id, person=desk.worker_of(work), reason="No.")
    desk.sweep()
    mismatch = Mismatch.objects.get()
    assert Remedy.OVERTURN in remedies_of(cases_of([mismatch])[mismatch.pk])
    actions.decide_mismatch(
        mismatch=mismatch, remedy=Remedy.OVERTURN, how="It is good work.", by=None, now=timezone.now()
    )
    for hours in (1, 3):
        desk.sweep(now=timezone.now() + timedelta(hours=hours))
    assert (desk.charges(), paid(desk)) == ([("0.25", "0.05")], Decimal("0.25"))
    assert state_of(work) == COUNTS
    assert not Mismatch.objects.filter(settled_at=None).exists()


def test_only_what_is_rejected_there_is_overturned_and_what_is_too_late_says_so(
    desk: Desk, work: Submission
) -> None:
    with pytest.raises(CannotPay, match="has carried out"):
        overturn(work)
    desk.send(reject(work))
    desk.later(days=31)
    payment = overturn(work)
    desk.send(payment)
    payment.refresh_from_db()
    assert payment.state == State.FAILED
    assert "within 30 days" in payment.problem
    assert state_of(work) == IS_OUT, "what is not paid is not used"
    again = actions.retry_payment(payment=payment, by=None, now=timezone.now())
    assert (again.kind, again.state) == (Kind.OVERTURN, State.REQUESTED)
    desk.later(days=-31)
    desk.send(again)
    assert state_of(work) == COUNTS, "as was asked for first"


@pytest.mark.usefixtures("client")
def test_an_overturning_that_was_refused_and_paid_in_another_way_is_not_paid_again(
    desk: Desk, work: Submission
) -> None:
    desk.marketplace.reject(work.remote_id, person=desk.worker_of(work), reason="No.")
    desk.sweep()
    work.refresh_from_db()
    mismatch = Mismatch.objects.select_related("campaign", "visit__session", "submission").get()
    desk.later(days=31)
    refused = desk.send(overturn(work))
    assert refused is not None
    assert refused.state == State.FAILED
    boss = ensure_researcher(username="boss", password="unguessable-1")
    browser = Client()
    browser.force_login(boss)
    page = reverse("dashboard:submissions", args=[desk.study.slug, desk.campaign.number])
    assert "Overturn it and pay" in browser.get(page).content.decode(), "it can be tried once more"
    assert Remedy.OVERTURN in remedies_of(cases_of([mismatch])[mismatch.pk])

    actions.record_external_payment(payment=refused, reason="By bank.", by=boss, now=timezone.now())

    assert "Overturn it and pay" not in browser.get(page).content.decode()
    assert Remedy.OVERTURN not in remedies_of(cases_of([mismatch])[mismatch.pk])
    desk.later(days=-31)
    with pytest.raises(CannotPay, match="already paid outside the platform"):
        overturn(work)
    assert not desk.charges()


def test_the_platform_hears_of_a_rejection_when_there_was_time_to_take_it_back(
    desk: Desk, work: Submission
) -> None:
    now = timezone.now()
    rejection = actions.reject(submission=work, reason="Nothing was read.", by=None, now=now)
    assert desk.send(rejection, now=now + REJECTION_WAITS - timedelta(seconds=1)) is None
    assert list(Payment.objects.due(now=now + REJECTION_WAITS)) == [rejection]
    approval = actions.approve_instead(payment=rejection, by=None, now=now)
    rejection.refresh_from_db()
    assert (rejection.state, approval.kind, state_of(work)) == (State.WITHDRAWN, Kind.APPROVAL, COUNTS)
    desk.send_all()
    assert desk.charges() == [("0.25", "0.05")]
    with pytest.raises(CannotPay, match="undo a rejection"):
        actions.approve_instead(payment=rejection, by=None, now=now)
