"""A researcher's word about a piece of work stands, whatever a comparison finds after it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest
from django.utils import timezone

from accounts.actions import ensure_researcher
from annotation.errors import WrongState
from annotation.models import Event, WorkSession
from recruitment import actions
from recruitment.marketplace import Status, Work
from recruitment.models import Campaign, Mismatch, Payment, Submission, Visit
from recruitment.reconciliation.remedies import Remedy
from tests import builders
from tests.doubles.mturk.faults import Fault
from tests.doubles.mturk.server import MTurkDouble
from tests.recruitment.campaigns import STORIES
from tests.recruitment.handed_in import Desk, approve, reject

pytestmark = pytest.mark.django_db
Kind, State = Mismatch.Kind, WorkSession.State


@pytest.fixture(scope="module")
def built(module_transaction: None) -> Iterator[Desk]:
    with MTurkDouble() as double:
        yield Desk(double, builders.make_study(stories=4), replace(STORIES, seats=6))


def work_in(desk: Desk, *, receipt: str | None = None, hands_in: bool = True) -> Visit:
    visit = desk.come()
    desk.answer(visit)
    actions.record_hand_in(visit=visit, now=timezone.now())
    if hands_in:
        desk.submit(visit, receipt=receipt)
    return visit


def given_up(desk: Desk) -> Mismatch:
    """Somebody whom stale lists made us give up, though they had handed in."""
    late = timezone.now() + desk.campaign.time_allowed + timedelta(hours=1)
    desk.double.faults.rates = {"ListAssignmentsForHIT": 1.0}
    desk.double.faults.kinds = (Fault.STALE,)
    desk.double.faults.longest_lag = 1
    for minutes in (0, 5):
        desk.sweep(now=late + timedelta(minutes=minutes))
    desk.double.faults.rates = {}
    return Mismatch.objects.select_related("campaign").get(kind=Kind.NOT_HANDED_IN)


def listed_as(desk: Desk, visit: Visit, status: Status) -> None:
    """The platform says this of the work, with our receipt, and it is compared."""
    assert visit.posting is not None
    worker = desk.worker_of_visit(visit)
    work = Work(visit.remote_id, worker, status, visit.posting.remote_id, visit.receipt)
    actions.reconciliation.record_submission(campaign=desk.campaign, work=work, now=timezone.now())
    actions.settlement.settle_visit(visit_id=visit.pk, polls=[], now=timezone.now())


def confirm(mismatch: Mismatch, how: str = "She showed us.") -> None:
    actions.confirm_manually(mismatch=mismatch, how=how, by=None, now=timezone.now())


def state_of(visit: Visit) -> tuple[str, list[str]]:
    session = WorkSession.objects.get(visit=visit)
    return session.state, list(session.assignments.values_list("state", flat=True))


COUNTS, IS_OUT = (State.CONFIRMED, ["submitted"]), (State.DOUBTED, ["doubted"])


def test_votes_that_were_let_count_go_on_counting_whatever_is_listed_then(desk: Desk) -> None:
    visit = work_in(desk, hands_in=False)
    late = timezone.now() + desk.campaign.time_allowed + timedelta(hours=1)
    for minutes in (0, 5):
        desk.sweep(now=late + timedelta(minutes=minutes))
    confirm(Mismatch.objects.get())
    for status in (Status.TIMED_OUT, Status.RETURNED):
        listed_as(desk, visit, status)
        assert state_of(visit) == COUNTS
    assert Mismatch.objects.count() == 1


def test_votes_that_were_taken_out_stay_out_and_what_is_proven_then_is_shown(desk: Desk) -> None:
    visit = work_in(desk, receipt="typed by hand")
    desk.sweep()
    actions.settle_mismatch(mismatch=Mismatch.objects.get(), how="Not the work.", by=None, now=timezone.now())
    listed_as(desk, visit, Status.SUBMITTED)
    assert state_of(visit) == IS_OUT
    assert not Payment.objects.exists()
    mismatch = Mismatch.objects.get(kind=Kind.SUBMITTED_LATE, settled_at=None)
    confirm(mismatch)
    assert (state_of(visit), Payment.objects.get().kind) == (COUNTS, Payment.Kind.APPROVAL)


def test_rejected_work_is_not_let_count_from_a_stale_page_or_by_a_sweep(desk: Desk) -> None:
    visit = work_in(desk, receipt="typed by hand")
    desk.sweep()
    stale = Mismatch.objects.select_related("campaign").get()
    actions.decide_mismatch(
        remedy=Remedy.REJECT,
        mismatch=stale,
        how="Rejected.",
        reason="Nothing was read.",
        by=None,
        now=timezone.now(),
    )
    with pytest.raises(WrongState, match="just resolved"):
        confirm(stale)
    listed_as(desk, visit, Status.SUBMITTED)
    assert (state_of(visit), desk.charges()) == (IS_OUT, [])
    other = work_in(desk, receipt="typed by hand")
    desk.sweep(now=timezone.now() + timedelta(minutes=10))
    reject(Submission.objects.get(visit=other))
    with pytest.raises(WrongState, match="was rejected"):
        confirm(Mismatch.objects.get(submission__visit=other))
    assert state_of(other) == IS_OUT


def test_a_rejection_that_was_taken_back_leaves_the_work_to_the_next_sweep(desk: Desk) -> None:
    Campaign.objects.update(auto_approves=False)
    work = desk.hand_in()
    actions.withdraw_rejection(payment=reject(work), by=None, now=timezone.now())
    assert actions.approve_all(campaign=desk.campaign, by=None, now=timezone.now()) == 1
    other = desk.hand_in()
    Campaign.objects.update(auto_approves=True)
    actions.withdraw_rejection(payment=reject(other), by=None, now=timezone.now())
    desk.sweep()
    assert Payment.objects.get(submission=other, kind="approval").state == Payment.State.DONE


def test_a_rejection_that_comes_too_late_is_shown_and_its_votes_can_count(desk: Desk) -> None:
    work = desk.hand_in()
    assert work.visit is not None
    payment = reject(work)
    desk.marketplace.approve(work.remote_id, person=desk.worker_of(work))  # its clock, or a colleague
    desk.send_all()
    payment.refresh_from_db()
    desk.sweep(now=timezone.now() + timedelta(hours=2))
    assert (payment.state, desk.charges()) == (Payment.State.FAILED, [("0.25", "0.05")])
    mismatch = Mismatch.objects.get(kind=Kind.DECIDED_BY_PLATFORM)
    assert state_of(work.visit) == IS_OUT
    confirm(mismatch)
    assert state_of(work.visit) == COUNTS


def test_who_was_paid_otherwise_and_is_found_after_all_is_shown_and_not_paid_again(desk: Desk) -> None:
    first = desk.hand_in()
    desk.send(approve(first))
    desk.look(first)
    assert first.visit is not None
    visit = desk.come_again(first.visit)
    desk.answer(visit)
    actions.record_hand_in(visit=visit, now=timezone.now())
    desk.submit(visit)
    mismatch = given_up(desk)
    actions.pay_for_mismatch(
        mismatch=mismatch,
        remedy=Remedy.BONUS,
        amount=Decimal("0.25"),
        reason="For the HIT that was lost.",
        votes_count=True,
        by=ensure_researcher(username="boss", password="a long enough password"),
        now=timezone.now(),
    )
    desk.sweep(now=timezone.now() + timedelta(hours=3))
    assert desk.charges() == [("0.25", "0.05")], "the first piece of work, and nothing for this one"
    assert len(desk.charges("bonus")) == 1
    assert state_of(visit) == COUNTS
    assert Mismatch.objects.get(settled_at=None).kind == Kind.PAID_OTHERWISE


def test_a_mismatch_is_written_once_whichever_side_it_was_first_seen_from(desk: Desk) -> None:
    visit = work_in(desk)
    mismatch = given_up(desk)
    assert (mismatch.visit, mismatch.submission) == (visit, None)
    WorkSession.objects.update(state=State.OPEN, settled_at=None)
    listed_as(desk, visit, Status.TIMED_OUT)
    mismatch.refresh_from_db()
    assert (mismatch.submission, Mismatch.objects.count()) == (Submission.objects.get(), 1)


def test_who_was_given_up_and_is_then_listed_counts_and_needs_nobody_any_more(desk: Desk) -> None:
    visit = work_in(desk)
    given_up(desk)
    assert state_of(visit) == IS_OUT
    desk.sweep(now=timezone.now() + timedelta(hours=4))
    assert (state_of(visit), desk.charges()) == (COUNTS, [("0.25", "0.05")])
    kinds = set(Mismatch.objects.values_list("kind", "settled_how"))
    assert {kind for kind, how in kinds if "nothing is left" in how} == {
        Kind.NOT_HANDED_IN,
        Kind.SUBMITTED_LATE,
    }
    assert Event.objects.filter(note__contains="nothing is left").count() == 2
