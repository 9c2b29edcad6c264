"""Decisions and money, when several ask or send at once; controls show what each guard is for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import pytest
from django.db import IntegrityError
from django.utils import timezone

from recruitment.actions import payment_delivery, payments
from recruitment.errors import CannotPay
from recruitment.models import Payment
from recruitment.models.payments import PaymentQuerySet
from tests import builders
from tests.concurrency.racing import errors, race, slowly, together, without_constraint, without_locks
from tests.doubles.mturk.server import MTurkDouble
from tests.recruitment.campaigns import STORIES
from tests.recruitment.handed_in import Desk, approve, bonus, reject

AT_ONCE = 4


@pytest.fixture
def desk() -> Iterator[Desk]:
    with MTurkDouble() as double:
        yield Desk(double, builders.make_study(stories=1), replace(STORIES, seats=1, seats_per_posting=1))


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
def test_two_bonuses_for_one_work_are_sent_one_after_the_other(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A platform without tokens tells them apart by nothing but their number."""
    work = desk.hand_in()
    desk.send(approve(work))
    slowly(monkeypatch, PaymentQuerySet, "due")
    claims = race(*(partial(claim, bonus(work).pk) for _ in range(2)))
    assert not errors(claims)
    assert len([taken for taken in claims if taken]) == 1


@pytest.mark.django_db(transaction=True)
def test_control_without_locks_both_are_sent_at_once(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    work = desk.hand_in()
    desk.send(approve(work))
    without_locks(monkeypatch)
    together(monkeypatch, PaymentQuerySet, "due", 2)
    claims = race(*(partial(claim, bonus(work).pk) for _ in range(2)))
    assert all(claims)
    assert not errors(claims)


def claim(payment_id: int) -> payment_delivery.Claim | None:
    return payment_delivery.claim_payment(payment_id=payment_id, now=timezone.now())


@pytest.mark.django_db(transaction=True)
def test_many_workers_send_it_once(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    work = desk.hand_in()
    desk.send(approve(work))
    payment = bonus(work)
    slowly(monkeypatch, payment_delivery, "_carry_out")
    before = desk.double.calls["SendBonus"]
    outcomes = race(*[partial(desk.send, payment)] * AT_ONCE)
    assert not errors(outcomes)
    assert len([outcome for outcome in outcomes if outcome]) == 1
    assert desk.double.calls["SendBonus"] - before == 1
    assert desk.charges("bonus") == [("0.37", "0.07")]
