"""Decisions and money: sent once, whoever asks twice, or dies on the way."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from annotation.models import Assignment, Event, WorkSession
from recruitment import actions
from recruitment.actions import payment_delivery
from recruitment.errors import CannotPay
from recruitment.marketplace import Status, Unreachable, Work
from recruitment.models import Payment, Submission
from tests.doubles.mturk.faults import Fault
from tests.recruitment.handed_in import Desk, approve, bonus, reject

pytestmark = pytest.mark.django_db
State, Kind = Payment.State, Payment.Kind


def test_work_that_was_returned_there_can_have_a_bonus_for_what_was_done(
    desk: Desk, work: Submission
) -> None:
    with pytest.raises(CannotPay, match="approved submission"):
        bonus(work)
    returned = Work(work.remote_id, desk.worker_of(work), Status.RETURNED)
    actions.reconciliation.record_submission(campaign=desk.campaign, work=returned, now=timezone.now())
    with pytest.raises(CannotPay, match="approved submission"):
        bonus(work, top_up=True)
    desk.send(bonus(work, "0.10"))
    assert desk.charges("bonus") == [("0.10", "0.02")]


def test_a_decision_is_made_once_and_paid_once(desk: Desk, work: Submission) -> None:
    assert approve(work) == approve(work)
    with pytest.raises(CannotPay, match="already decided"):
        reject(work)
    (payment,) = Payment.objects.all()
    for _time in range(2):
        desk.send(payment)
    assert desk.charges() == [("0.25", "0.05")]
    assert Payment.objects.get().state == State.DONE
    assert desk.send(payment) is None, "what is settled is not sent"
    logged = set(Event.objects.filter(subject__startswith="approval").values_list("type", flat=True))
    assert logged == {Event.Type.PAYMENT_REQUESTED, Event.Type.PAYMENT_SENT}


def test_a_rejection_says_why_and_pays_nothing(desk: Desk, work: Submission) -> None:
    with pytest.raises(CannotPay, match="needs a reason"):
        reject(work, " ")
    desk.send(reject(work))
    with pytest.raises(CannotPay, match="was rejected"):
        approve(work)
    with pytest.raises(CannotPay, match="only for an approved submission"):
        bonus(work)
    assert desk.charges() == []
    assert desk.look(work).status == Status.REJECTED
    told = desk.double.world.assignments.get(work.remote_id)
    assert told is not None
    assert (told.feedback, told.worker_id) == ("Nothing was read.", desk.worker_of(work))


def test_bonuses_are_as_many_as_were_asked_for_and_a_top_up_is_one(desk: Desk, work: Submission) -> None:
    with pytest.raises(CannotPay, match="only for an approved submission"):
        bonus(work)
    desk.send(approve(work))
    for wrong in ("0", "-1", "0.005"):
        with pytest.raises(CannotPay, match="whole cents"):
            bonus(work, wrong)
    bonus(work)
    bonus(work)
    bonus(work, top_up=True)
    with pytest.raises(CannotPay, match="already topped up"):
        bonus(work, "0.01", top_up=True)
    desk.send_all()
    assert desk.charges("bonus") == [("0.37", "0.07")] * 3


@pytest.mark.parametrize(
    ("fault", "hours"),
    [
        (Fault.DROPPED, 30),
        (Fault.BEFORE, 0),
        *(
            pytest.param(fault, hours, marks=pytest.mark.torture)
            for fault, hours in (
                *((fault, hours) for fault in (Fault.AFTER, Fault.THROTTLED) for hours in (0, 30)),
                (Fault.DROPPED, 0),
                (Fault.BEFORE, 30),
            )
        ),
    ],
)
def test_an_answer_that_is_lost_pays_once(
    desk: Desk, paid_work: Submission, fault: Fault, hours: int
) -> None:
    """Also after the platform has forgotten its tokens, and when the next try is throttled."""
    first, second = bonus(paid_work), bonus(paid_work)
    desk.double.faults.next = {"SendBonus": [fault, Fault.THROTTLED]}
    for _try in range(2):
        with pytest.raises(Unreachable):
            desk.send(first)
    desk.later(hours=hours)
    desk.send(first)
    desk.send(second)
    assert desk.charges("bonus") == [("0.37", "0.07")] * 2
    assert set(Payment.objects.values_list("state", flat=True)) == {State.DONE}


def test_a_try_that_was_not_done_says_nothing_of_an_earlier_one(paid_work: Submission) -> None:
    """Without tokens, a platform is asked what it has done; so that it was asked before stays known."""
    payment = bonus(paid_work)
    expected = [(False, True, State.REQUESTED), (True, True, State.SENDING), (False, False, State.SENDING)]
    for number, (maybe_done, is_first, state) in enumerate(expected, 1):
        claim = payment_delivery.claim_payment(payment_id=payment.pk, now=timezone.now())
        assert claim is not None
        assert (claim.is_first, claim.payment.tries) == (is_first, number), "tries never go back"
        payment_delivery._give_back(claim, Unreachable("no answer", maybe_done=maybe_done))
        payment.refresh_from_db()
        assert payment.state == state
    assert payment.first_sent_at is not None


def test_whoever_was_away_for_too_long_writes_and_pays_nothing_any_more(
    desk: Desk, paid_work: Submission
) -> None:
    """Else the one who took over would be believed never to have been there, and a third would pay again."""
    payment = bonus(paid_work)
    now = timezone.now()
    away = payment_delivery.claim_payment(payment_id=payment.pk, now=now)
    other = payment_delivery.claim_payment(payment_id=payment.pk, now=now + payment_delivery.SENDING)
    assert away
    assert other
    before = Payment.objects.values().get(pk=payment.pk)
    payment_delivery._give_back(away, Unreachable("no answer", maybe_done=False))
    payment_delivery._settle(away, State.FAILED, problem="no", now=now)
    with pytest.raises(payment_delivery.TakenOver):
        payment_delivery._pay_bonus(away, desk.worker_of(paid_work), desk.marketplace)
    assert Payment.objects.values().get(pk=payment.pk) == before
    assert desk.charges("bonus") == []


def test_a_worker_that_dies_after_sending_is_followed_by_one_that_pays_nothing(
    desk: Desk, work: Submission, monkeypatch: pytest.MonkeyPatch
) -> None:
    approval = approve(work)

    def die(*_args: Any, **_named: Any) -> None:
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr(payment_delivery, "_settle", die)
        with pytest.raises(SystemExit):
            desk.send(approval)
    assert desk.send(approval) is None, "somebody may still be sending it"
    now = timezone.now()
    assert list(Payment.objects.due(now=now)) == []
    assert list(Payment.objects.due(now=now + payment_delivery.SENDING)) == [approval]
    done = desk.send(approval, now=now + payment_delivery.SENDING)
    assert done is not None
    assert (done.state, done.tries) == (State.DONE, 2)
    assert desk.charges() == [("0.25", "0.05")]


def test_a_rejection_is_taken_back_as_long_as_it_was_not_carried_out(desk: Desk, work: Submission) -> None:
    session = WorkSession.objects.get()
    votes = Assignment.objects.filter(session=session, state=Assignment.State.SUBMITTED)
    assert votes.exists()
    rejection = reject(work)
    assert not votes.exists()
    withdrawn = actions.withdraw_rejection(payment=rejection, by=None, now=timezone.now())
    assert withdrawn.state == State.WITHDRAWN
    assert votes.exists(), "they count as before"
    assert list(Payment.objects.due(now=timezone.now())) == []
    desk.send(approve(work))
    assert desk.charges() == [("0.25", "0.05")]
    done = Payment.objects.get(kind=Kind.APPROVAL)
    under_way = reject(desk.hand_in())
    assert payment_delivery.claim_payment(payment_id=under_way.pk, now=timezone.now())
    for payment in (done, under_way, rejection):
        with pytest.raises(CannotPay, match="until the platform carries it out"):
            actions.withdraw_rejection(payment=payment, by=None, now=timezone.now())


def test_work_that_was_not_handed_in_cannot_be_decided(desk: Desk, work: Submission) -> None:
    Submission.objects.filter(pk=work.pk).update(status=Status.RETURNED)
    for decide in (approve, reject):
        with pytest.raises(CannotPay, match="cannot decide it"):
            decide(work)
