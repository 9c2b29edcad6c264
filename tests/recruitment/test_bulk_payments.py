"""Approving and topping up many at once, in short transactions: each submission once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from functools import partial
from typing import Any

import pytest
from django.db import DatabaseError, IntegrityError, connection
from django.utils import timezone

from annotation.models import Event
from recruitment import actions, pay
from recruitment.actions import bulk_payments, payments
from recruitment.errors import CannotPay
from recruitment.models import Payment, Submission
from tests import builders
from tests.concurrency.racing import errors, race, slowly, together, without_locks
from tests.doubles.mturk.server import MTurkDouble
from tests.recruitment.campaigns import STORIES
from tests.recruitment.handed_in import Desk, approve, reject

WORKS = 4


@pytest.fixture
def desk() -> Iterator[Desk]:
    """Work that waits for a researcher."""
    study = builders.make_study(stories=4, pay_rate=Decimal("15.00"))
    with MTurkDouble() as double:
        yield Desk(double, study, replace(STORIES, seats=8, seats_per_posting=4, auto_approves=False))


def approve_all(desk: Desk) -> int:
    return actions.approve_all(campaign=desk.campaign, by=None, now=timezone.now())


def decisions() -> list[int]:
    return sorted(Payment.objects.values_list("submission", flat=True))


def test_the_hourly_pay_is_known_from_five_submissions_on() -> None:
    of = partial(pay.hourly_pay, Decimal("0.25"), 120.0, Decimal(15))
    assert of(pieces=4) is None
    found = of(pieces=5)
    assert found is not None
    assert found.top_up == Decimal("0.25")


@pytest.mark.django_db
def test_what_is_missing_to_the_hourly_rate_is_paid_once(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pay, "FEWEST", 2)

    def press() -> int:
        return actions.top_up_all(campaign=desk.campaign, by=None, now=timezone.now())

    with pytest.raises(CannotPay, match="Too few submissions"):
        press()
    for _person in range(2):
        work = desk.hand_in(minutes=2)
        desk.send(approve(work))
    little = desk.hand_in(whole=False, minutes=2)
    unproven = desk.hand_in(confirmed=False)
    for unlike in (little, unproven):
        desk.send(approve(unlike))
    assert press() == 2
    with pytest.raises(CannotPay, match="Nothing is owed"):
        press()
    late = desk.hand_in(minutes=2)
    desk.send(approve(late))
    paid = Payment.objects.filter(kind=Payment.Kind.TOP_UP)
    assert [payment.amount for payment in paid] == [Decimal("0.25")] * 2, "2 minutes at 15 are 0.50"
    for unlike in (little, unproven):
        assert not unlike.payments.filter(kind=Payment.Kind.TOP_UP), "paid, but it took nobody too long"
    desk.send_all()
    assert desk.charges("bonus") == [("0.25", "0.05")] * 2
    assert press() == 1
    assert Submission.objects.get(payments=paid.latest("pk")) == late
    asked_for = Event.objects.filter(type=Event.Type.CAMPAIGN_CHANGED, note__startswith="top_up")
    assert sorted(asked_for.values_list("note", flat=True)) == [
        "top_up of 0.25 USD for each of 1 submissions",
        "top_up of 0.25 USD for each of 2 submissions",
    ]


@pytest.mark.django_db(transaction=True)
def test_presses_and_decisions_at_once_decide_about_each_piece_of_work_once(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    works = [desk.hand_in() for _person in range(WORKS)]
    slowly(monkeypatch, bulk_payments, "_lock")
    press = partial(approve_all, desk)
    outcomes = race(press, partial(approve, works[1]), press, partial(reject, works[3]))
    assert all(isinstance(error, CannotPay) for error in errors(outcomes))
    assert decisions() == [work.pk for work in works]


@pytest.mark.django_db(transaction=True)
def test_control_without_locks_presses_fail_on_the_constraint(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _person in range(2):
        desk.hand_in()
    without_locks(monkeypatch)
    together(monkeypatch, bulk_payments, "_lock", 2)
    (error,) = errors(race(*[partial(approve_all, desk)] * 2))
    assert isinstance(error, IntegrityError)


@pytest.mark.django_db(transaction=True)
def test_a_press_that_dies_keeps_its_finished_batches_and_the_next_one_pays_the_others(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    works = [desk.hand_in() for _person in range(WORKS)]
    monkeypatch.setattr(bulk_payments, "BATCH", 2)

    batches: list[object] = []

    def dying(*given: Any, **named: Any) -> None:
        payments.record_payments(*given, **named)  # as it was called
        batches.append(given)
        if len(batches) < 2:
            return
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")

    with monkeypatch.context() as patch:
        patch.setattr(bulk_payments, "record_payments", dying)
        with pytest.raises(DatabaseError):
            approve_all(desk)
    connection.close()
    assert decisions() == [work.pk for work in works[:2]], "the second batch of two is rolled back"
    assert approve_all(desk) == WORKS - 2
    assert decisions() == [work.pk for work in works]
    logged = Event.objects.filter(type=Event.Type.PAYMENT_REQUESTED).values_list("subject", flat=True)
    assert set(logged) == {f"approval {payment.pk} of 0.25 USD" for payment in Payment.objects.all()}
