"""Decisions and money: sent once, whoever asks twice, dies on the way or is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import partial
from typing import Any

import pytest
from django.db import IntegrityError
from django.utils import timezone

from annotation import actions as annotation_actions
from annotation.models import Event
from recruitment import actions
from recruitment.actions import payments
from recruitment.errors import CannotPay
from recruitment.marketplace import Status, Unreachable
from recruitment.models import Payment, Submission
from tests import builders
from tests.concurrency.racing import errors, race, slowly, together, without_constraint, without_locks
from tests.doubles.mturk.faults import Fault
from tests.doubles.mturk.server import MTurkDouble
from tests.recruitment.handed_in import Desk

State, Kind = Payment.State, Payment.Kind
AT_ONCE = 4


@pytest.fixture
def desk() -> Iterator[Desk]:
    with MTurkDouble() as double:
        yield Desk(double, builders.make_study(stories=6, pay_rate=Decimal("15.00")))


def bonus(work: Submission, amount: str = "0.37", **more: Any) -> Payment:
    return actions.give_bonus(
        submission=work, amount=Decimal(amount), reason="Thank you.", by=None, now=timezone.now(), **more
    )


def approve(work: Submission) -> Payment:
    return actions.approve(submission=work, by=None, now=timezone.now())


def reject(work: Submission, reason: str = "Nothing was read.") -> Payment:
    return actions.reject(submission=work, reason=reason, by=None, now=timezone.now())


@pytest.mark.django_db
def test_a_decision_is_made_once_and_paid_once(desk: Desk) -> None:
    work = desk.hand_in()
    assert approve(work) == approve(work)
    with pytest.raises(CannotPay, match="decided already"):
        reject(work)
    (payment,) = Payment.objects.all()
    for _time in range(2):
        desk.send(payment)
    assert desk.charges() == [("0.25", "0.05")]
    assert Payment.objects.get().state == State.DONE
    assert desk.send(payment) is None, "what is settled is not sent"
    logged = set(Event.objects.filter(subject__startswith="approval").values_list("type", flat=True))
    assert logged == {Event.Type.PAYMENT_REQUESTED, Event.Type.PAYMENT_SENT}


@pytest.mark.django_db
def test_a_rejection_says_why_and_pays_nothing(desk: Desk) -> None:
    work = desk.hand_in()
    with pytest.raises(CannotPay, match="needs a reason"):
        reject(work, " ")
    desk.send(reject(work))
    with pytest.raises(CannotPay, match="has been rejected"):
        approve(work)
    with pytest.raises(CannotPay, match="not been approved"):
        bonus(work)
    assert desk.charges() == []
    assert desk.look(work).status == Status.REJECTED
    told = desk.double.world.assignments.get(work.hit_assignment)
    assert told is not None
    assert (told.feedback, told.worker_id) == ("Nothing was read.", desk.worker_of(work))


@pytest.mark.django_db
def test_bonuses_are_as_many_as_were_asked_for_and_a_top_up_is_one(desk: Desk) -> None:
    work = desk.hand_in()
    with pytest.raises(CannotPay, match="not been approved"):
        bonus(work)
    desk.send(approve(work))
    for wrong in ("0", "-1", "0.005"):
        with pytest.raises(CannotPay, match="whole cents"):
            bonus(work, wrong)
    bonus(work)
    bonus(work)
    bonus(work, top_up=True)
    with pytest.raises(CannotPay, match="topped up already"):
        bonus(work, "0.01", top_up=True)
    desk.send_all()
    assert desk.charges("bonus") == [("0.37", "0.07")] * 3


@pytest.mark.django_db
def test_what_is_missing_to_the_hourly_rate_is_paid_once(desk: Desk) -> None:
    campaign = desk.campaign
    with pytest.raises(CannotPay, match="Too little work"):
        actions.top_up(campaign=campaign, by=None, now=timezone.now())
    works = [desk.hand_in(minutes=2) for _person in range(5)]
    for work in works:
        desk.send(approve(work))
        desk.look(work)
    paid = actions.top_up(campaign=campaign, by=None, now=timezone.now())
    assert [payment.amount for payment in paid] == [Decimal("0.25")] * 5, "2 minutes at 15 are 0.50"
    assert actions.top_up(campaign=campaign, by=None, now=timezone.now()) == []
    desk.send_all()
    assert desk.charges("bonus") == [("0.25", "0.05")] * 5


@pytest.mark.django_db
@pytest.mark.parametrize("fault", [Fault.DROPPED, Fault.AFTER, Fault.BEFORE, Fault.THROTTLED])
@pytest.mark.parametrize("hours", [0, 30])
def test_an_answer_that_is_lost_pays_once(desk: Desk, fault: Fault, hours: int) -> None:
    """Also after the platform has forgotten its tokens, and when the next try is throttled."""
    work = desk.hand_in()
    desk.send(approve(work))
    first, second = bonus(work), bonus(work)
    desk.double.faults.next = {"SendBonus": [fault, Fault.THROTTLED]}
    for _try in range(2):
        with pytest.raises(Unreachable):
            desk.send(first)
    desk.later(hours=hours)
    desk.send(first)
    desk.send(second)
    assert desk.charges("bonus") == [("0.37", "0.07")] * 2
    assert set(Payment.objects.values_list("state", flat=True)) == {State.DONE}


@pytest.mark.django_db
def test_a_try_that_was_not_done_says_nothing_of_an_earlier_one(desk: Desk) -> None:
    """Without tokens, a platform is asked what it has done; so that it was asked before stays known."""
    work = desk.hand_in()
    desk.send(approve(work))
    payment = bonus(work)
    for maybe_done, tries in ((False, 0), (True, 1), (False, 2)):
        claimed = payments.claim_payment(payment_id=payment.pk, now=timezone.now())
        assert claimed is not None
        payments._give_back(claimed, Unreachable("no answer", maybe_done=maybe_done))
        payment.refresh_from_db()
        assert payment.tries == tries
    assert payment.first_sent_at is not None


@pytest.mark.django_db
def test_a_worker_that_dies_after_sending_is_followed_by_one_that_pays_nothing(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = desk.hand_in()
    approval = approve(work)

    def die(*_args: Any, **_named: Any) -> None:
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr(payments, "_settle", die)
        with pytest.raises(SystemExit):
            desk.send(approval)
    assert desk.send(approval) is None, "somebody may still be sending it"
    now = timezone.now()
    assert actions.due_payments(now=now) == []
    assert actions.due_payments(now=now + payments.SENDING) == [approval.pk]
    done = desk.send(approval, now=now + payments.SENDING)
    assert done is not None
    assert (done.state, done.tries) == (State.DONE, 2)
    assert desk.charges() == [("0.25", "0.05")]


@pytest.mark.django_db
def test_what_the_platform_refuses_stays_with_its_reason_and_can_be_asked_for_again(desk: Desk) -> None:
    work = desk.hand_in()
    desk.send(approve(work))
    desk.double.world.deposit = Decimal(1)
    refused = desk.send(bonus(work, "5.00"))
    assert refused is not None
    assert (refused.state, desk.charges("bonus")) == (State.FAILED, [])
    assert refused.problem
    desk.double.world.deposit = Decimal(100)
    again = actions.ask_again(payment=refused, by=None, now=timezone.now())
    desk.send(again)
    assert desk.charges("bonus") == [("5.00", "1.00")]
    for payment in (refused, again):
        with pytest.raises(CannotPay, match="only once"):
            actions.ask_again(payment=payment, by=None, now=timezone.now())


@pytest.mark.django_db
def test_no_sweep_asks_again_for_what_was_refused(desk: Desk) -> None:
    """Else somebody who was forgotten would get a new payment with every sweep."""
    work = desk.hand_in(confirmed=False)
    annotation_actions.forget(annotator=work.annotator, now=timezone.now())
    for _sweep in range(3):
        desk.sweep()
    (payment,) = Payment.objects.all()
    assert payment.state == State.FAILED
    assert "has been forgotten" in payment.problem
    assert desk.charges() == []


@pytest.mark.django_db
def test_work_that_was_not_handed_in_cannot_be_decided(desk: Desk) -> None:
    work = desk.hand_in()
    Submission.objects.filter(pk=work.pk).update(status=Status.RETURNED)
    for decide in (approve, reject):
        with pytest.raises(CannotPay, match="cannot be decided"):
            decide(work)


# -- several at once


@pytest.mark.django_db(transaction=True)
def test_many_who_decide_at_once_decide_once(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    work = desk.hand_in()
    slowly(monkeypatch, payments, "_decision")
    deciders: tuple[Callable[[], Payment], ...] = (partial(approve, work), partial(reject, work))
    outcomes = race(*deciders * 3)
    assert all(isinstance(error, CannotPay) for error in errors(outcomes))
    assert Payment.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_control_without_locks_only_the_constraint_keeps_a_second_decision_out(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = desk.hand_in()
    without_locks(monkeypatch)
    together(monkeypatch, payments, "_decision", AT_ONCE)
    outcomes = race(*[partial(approve, work)] * AT_ONCE)
    assert len(errors(outcomes)) == AT_ONCE - 1
    assert all(isinstance(error.__cause__, IntegrityError) for error in errors(outcomes))
    assert Payment.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_control_without_lock_and_constraint_it_is_decided_twice(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = desk.hand_in()
    with without_constraint(Payment, "one_decision_per_submission"):
        without_locks(monkeypatch)
        together(monkeypatch, payments, "_decision", AT_ONCE)
        race(*[partial(approve, work)] * AT_ONCE)
        assert Payment.objects.count() == AT_ONCE


@pytest.mark.django_db(transaction=True)
def test_many_workers_send_it_once(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    work = desk.hand_in()
    desk.send(approve(work))
    payment = bonus(work)
    slowly(monkeypatch, payments, "_carry_out")
    before = desk.double.calls["SendBonus"]
    outcomes = race(*[partial(desk.send, payment)] * AT_ONCE)
    assert not errors(outcomes)
    assert len([outcome for outcome in outcomes if outcome]) == 1
    assert desk.double.calls["SendBonus"] - before == 1
    assert desk.charges("bonus") == [("0.37", "0.07")]
