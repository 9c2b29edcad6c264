"""What workers do by themselves: every few minutes, one at a time, and after one of them died."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from annotation.locks import alone
from annotation.models import WorkSession
from recruitment import actions, tasks
from recruitment.actions import payment_delivery
from recruitment.marketplace import NotConfigured
from recruitment.models import Campaign, Payment
from recruitment.queue import PUBLISH
from tests import builders
from tests.doubles.mturk.faults import Fault
from tests.doubles.mturk.server import KEY_ID, SECRET, MTurkDouble
from tests.recruitment.campaigns import STORIES, make_campaign
from tests.recruitment.handed_in import Desk
from tomannot.celery import app

State = Campaign.State
SMALL = replace(STORIES, seats=6, seats_per_posting=6)


@pytest.fixture
def double(settings: Any) -> Iterator[MTurkDouble]:
    with MTurkDouble() as double:
        account = {"key_id": KEY_ID, "secret": SECRET, "endpoint": double.url}
        settings.MTURK = {"live": account, "rehearsal": dict.fromkeys(account, "")}
        yield double


@pytest.mark.django_db
def test_a_sweep_leaves_nothing_that_waits(double: MTurkDouble, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[str, int]] = []
    monkeypatch.setattr(app, "send_task", lambda name, args: told.append((name.split(".")[-1], args[0])))
    desk = Desk(double, builders.make_study(stories=2), SMALL)
    desk.hand_in(confirmed=False)
    tasks.sweep_campaigns()
    assert told == [("reconcile", desk.campaign.pk)]
    tasks.reconcile(desk.campaign.pk)
    told.clear()
    tasks.sweep_campaigns()
    assert told == [("reconcile", desk.campaign.pk), ("send_due", desk.campaign.pk)]
    tasks.send_due(desk.campaign.pk)
    assert desk.charges() == [("0.25", "0.05")]
    draft = make_campaign(desk.study, SMALL)
    actions.start_campaign(campaign=draft, marketplace=desk.marketplace, by=None, now=timezone.now())
    told.clear()
    tasks.sweep_campaigns()
    assert told == [("reconcile", desk.campaign.pk), ("carry_out", draft.pk)], (
        "nothing of it is there to ask for"
    )
    tasks.carry_out(draft.pk)
    assert Campaign.objects.get(pk=draft.pk).state == State.LIVE
    assert WorkSession.objects.get().state == WorkSession.State.CONFIRMED


@pytest.mark.django_db
def test_many_payments_are_one_message_and_one_that_fails_keeps_no_other_waiting(
    double: MTurkDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[tuple[str, int]] = []
    monkeypatch.setattr(app, "send_task", lambda name, args: told.append((name.split(".")[-1], args[0])))
    monkeypatch.setattr("django.db.transaction.on_commit", lambda call, robust=False: call())
    desk = Desk(double, builders.make_study(stories=2), SMALL)
    for _person in range(4):
        desk.hand_in(confirmed=False)
    told.clear()
    tasks.reconcile(desk.campaign.pk)
    assert told == [("send_due", desk.campaign.pk)]
    tasks.sweep_campaigns()
    assert told[1:] == [("reconcile", desk.campaign.pk), ("send_due", desk.campaign.pk)]
    double.faults.next = {"ApproveAssignment": [Fault.BEFORE] * 3}
    with monkeypatch.context() as slow:
        seconds = itertools.count(step=70)
        slow.setattr(payment_delivery, "time", SimpleNamespace(monotonic=lambda: next(seconds)))
        more = actions.send_due(campaign=desk.campaign, marketplace=desk.marketplace)
        assert (more, desk.charges()) == (False, []), "nobody answers: not queued again before the next sweep"
    double.faults.next = {"ApproveAssignment": [Fault.BEFORE]}
    assert not actions.send_due(campaign=desk.campaign, marketplace=desk.marketplace)
    assert len(desk.charges()) == 3, "what was not tried yet came first"
    (again,) = Payment.objects.due(now=timezone.now())
    newer = actions.approve(submission=desk.hand_in(), by=None, now=timezone.now())
    assert list(Payment.objects.due(now=timezone.now())) == [newer, again], "what was tried comes behind"
    assert actions.send_due(campaign=desk.campaign, marketplace=desk.marketplace, most_seconds=-1)
    assert len(desk.charges()) == 3, "its time was over; the rest is queued again"
    tasks.send_due(desk.campaign.pk)
    assert len(desk.charges()) == 5
    told.clear()
    tasks.sweep_campaigns()
    assert ("send_due", desk.campaign.pk) not in told


@pytest.mark.django_db
def test_a_payment_of_an_account_that_is_gone_waits(double: MTurkDouble, settings: Any) -> None:
    desk = Desk(double, builders.make_study(stories=2), SMALL)
    payment = actions.approve(submission=desk.hand_in(), by=None, now=timezone.now())
    settings.MTURK = {"live": dict.fromkeys(("key_id", "secret", "endpoint"), "")}
    with pytest.raises(NotConfigured):
        tasks.send_due(desk.campaign.pk)
    payment.refresh_from_db()
    assert payment.state == Payment.State.REQUESTED
    assert list(Payment.objects.due(now=timezone.now())) == [payment]


@pytest.mark.django_db(transaction=True)
def test_one_worker_at_a_time_and_none_waits_for_one_that_died(double: MTurkDouble) -> None:
    desk = Desk(double, builders.make_study(stories=2), SMALL)
    draft = make_campaign(desk.study, SMALL)
    actions.start_campaign(campaign=draft, marketplace=desk.marketplace, by=None, now=timezone.now())
    inside, die = threading.Event(), threading.Event()

    def worker() -> None:
        with alone(PUBLISH, draft.pk) as nobody_else:
            assert nobody_else
            inside.set()
            die.wait(timeout=20)
            connection.connection.close()  # as the system does for a process that is killed

    other = threading.Thread(target=worker, daemon=True)
    other.start()
    assert inside.wait(timeout=20)
    calls = sum(double.calls.values())
    tasks.carry_out(draft.pk)
    assert sum(double.calls.values()) == calls
    assert Campaign.objects.get(pk=draft.pk).state == State.CREATING
    die.set()
    other.join(timeout=20)
    for _time in range(2):
        tasks.carry_out(draft.pk)
    assert Campaign.objects.get(pk=draft.pk).state == State.LIVE
