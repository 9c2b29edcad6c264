"""Approving and topping up many at once: one press, written by workers, of whom one may die."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from functools import partial

import pytest
from django.db import DatabaseError, IntegrityError, connection
from django.utils import timezone

from annotation.models import Event
from recruitment import actions, tasks
from recruitment.actions import ordering, sending
from recruitment.errors import CannotPay
from recruitment.models import Payment, PaymentOrder, Submission
from tests import builders
from tests.concurrency.racing import errors, race, slowly, together, without_locks
from tests.doubles.mturk.server import MTurkDouble
from tests.recruitment.campaigns import STORIES
from tests.recruitment.handed_in import Desk, approve, reject
from tomannot.celery import app

WORKS = 6


@pytest.fixture
def desk(monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    """Work that waits for a researcher, whose order is written in batches of two."""
    monkeypatch.setattr(ordering, "BATCH", 2)
    study = builders.make_study(stories=4, pay_rate=Decimal("15.00"))
    with MTurkDouble() as double:
        yield Desk(double, study, replace(STORIES, seats=12, approves_by_itself=False))


def order(desk: Desk) -> PaymentOrder:
    return actions.order_approvals(campaign=desk.campaign, by=None, now=timezone.now())


def worker(found: PaymentOrder) -> Callable[[], object]:
    return partial(actions.write_payments, order_id=found.pk)


def decisions() -> list[int]:
    return sorted(Payment.objects.values_list("submission", flat=True))


@pytest.mark.django_db
def test_what_is_missing_to_the_hourly_rate_is_paid_once(desk: Desk) -> None:
    def press() -> PaymentOrder:
        return actions.order_top_ups(campaign=desk.campaign, by=None, now=timezone.now())

    with pytest.raises(CannotPay, match="Too little work"):
        press()
    for _person in range(5):
        work = desk.hand_in(minutes=2)
        desk.send(approve(work))
    little = desk.hand_in(whole=False, minutes=2)
    unproven = desk.hand_in(confirmed=False)
    for unlike in (little, unproven):
        desk.send(approve(unlike))
    asked = press()
    assert press() == asked, "while it is underway, a second press is the same"
    late = desk.hand_in(minutes=2)
    desk.send(approve(late))
    actions.write_payments(order_id=asked.pk)
    actions.write_payments(order_id=asked.pk)
    paid = Payment.objects.filter(kind=Payment.Kind.TOP_UP)
    assert [payment.amount for payment in paid] == [Decimal("0.25")] * 5, "2 minutes at 15 are 0.50"
    assert late not in Submission.objects.filter(payments__in=paid), "no more than was asked for"
    for unlike in (little, unproven):
        assert not unlike.payments.filter(kind=Payment.Kind.TOP_UP), "paid, but it took nobody too long"
    desk.send_all()
    assert desk.charges("bonus") == [("0.25", "0.05")] * 5
    actions.write_payments(order_id=press().pk)
    assert paid.all().count() == 6
    with pytest.raises(CannotPay, match="Nothing is missing"):
        press()
    asked_for = Event.objects.filter(type=Event.Type.CAMPAIGN_CHANGED, note__startswith="top_up")
    assert sorted(asked_for.values_list("note", flat=True)) == [
        "top_up of 0.25 USD asked for, for each of 1 pieces of work",
        "top_up of 0.25 USD asked for, for each of 5 pieces of work",
    ]


@pytest.mark.django_db(transaction=True)
def test_presses_and_workers_at_once_decide_about_each_piece_of_work_once(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    works = [desk.hand_in() for _person in range(WORKS)]
    pressed = race(*[partial(order, desk)] * 3)
    (asked,) = PaymentOrder.objects.all()
    assert pressed == [asked] * 3
    slowly(monkeypatch, ordering, "_lock_open")
    outcomes = race(worker(asked), partial(approve, works[1]), worker(asked), partial(reject, works[4]))
    assert all(isinstance(error, CannotPay) for error in errors(outcomes))
    assert decisions() == [work.pk for work in works]
    asked.refresh_from_db()
    assert asked.finished_at is not None
    assert WORKS - 2 <= asked.written <= WORKS, "those that somebody else decided first are not its own"


@pytest.mark.django_db(transaction=True)
def test_control_without_locks_workers_fail_on_the_constraint(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _person in range(2):
        desk.hand_in()
    asked = order(desk)
    without_locks(monkeypatch)
    together(monkeypatch, ordering, "_write", 2, before=True)
    (error,) = errors(race(worker(asked), worker(asked)))
    assert isinstance(error, IntegrityError)


@pytest.mark.django_db(transaction=True)
def test_after_a_worker_that_died_another_goes_on_behind_its_last_batch(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    works = [desk.hand_in() for _person in range(WORKS)]
    asked = order(desk)
    told: list[tuple[str, list[int]]] = []

    def dying(**named: object) -> None:
        sending.record_payments(**named)  # type: ignore[arg-type]  # as it was called
        if len(decisions()) == 4:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")

    with monkeypatch.context() as patch:
        patch.setattr(ordering, "record_payments", dying)
        with pytest.raises(DatabaseError):
            actions.write_payments(order_id=asked.pk)
    connection.close()
    asked.refresh_from_db()
    assert (asked.written, asked.finished_at, decisions()) == (2, None, [work.pk for work in works[:2]])
    monkeypatch.setattr(app, "send_task", lambda name, args: told.append((name, args)))
    tasks.sweep_campaigns()
    assert ("recruitment.tasks.write_payments", [asked.pk]) in told
    tasks.write_payments(asked.pk)
    asked.refresh_from_db()
    assert (asked.written, asked.finished_at is None) == (WORKS, False)
    assert decisions() == [work.pk for work in works]
    logged = Event.objects.filter(type=Event.Type.PAYMENT_REQUESTED).values_list("subject", flat=True)
    assert set(logged) == {f"approval {payment.pk} of 0.25 USD" for payment in Payment.objects.all()}
