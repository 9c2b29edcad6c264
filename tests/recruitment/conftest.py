"""Fixtures of this room: desks, the worker at work at once, and the mails it sends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from django.core import mail
from django.core.mail import EmailMessage
from django.db import transaction

from recruitment.models import Submission
from tests import builders
from tests.doubles.mturk.server import MTurkDouble
from tests.recruitment.campaigns import STORIES
from tests.recruitment.handed_in import Desk, approve
from tomannot.celery import app


@pytest.fixture(scope="module")
def built(module_transaction: None) -> Iterator[Desk]:
    """A desk with one submission that waits for a decision."""
    study = builders.make_study(stories=6, pay_rate=Decimal("15.00"))
    with MTurkDouble() as double:
        desk = Desk(double, study, replace(STORIES, seats=4, seats_per_posting=2))
        desk.hand_in()
        yield desk


@pytest.fixture
def work(desk: Desk) -> Submission:
    return Submission.objects.get()


@pytest.fixture
def paid_work(desk: Desk, work: Submission) -> Submission:
    """The submission, approved."""
    desk.send(approve(work))
    return work


@pytest.fixture
def desk(built: Desk) -> Iterator[Desk]:
    """The desk that a module builds once, as it was when it was built."""
    with built.for_one_test() as desk:
        yield desk


@pytest.fixture
def mails(monkeypatch: pytest.MonkeyPatch) -> list[EmailMessage]:
    """The mails sent so far. What would be queued is done at once, as soon as it is committed."""

    def run(name: str, args: list[Any]) -> None:
        app.tasks[name](*args)

    monkeypatch.setattr(app, "send_task", run)
    outbox: list[EmailMessage] = mail.outbox
    return outbox


@pytest.fixture(autouse=True)
def committed(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """In tests that look at mails, what is to happen after the commit happens, though none commits."""
    if "mails" not in request.fixturenames:
        return
    monkeypatch.setattr(transaction, "on_commit", lambda call, robust=False: call())


@contextmanager
def no_mails(outbox: list[EmailMessage]) -> Iterator[None]:
    """Nothing is sent in this block."""
    before = len(outbox)
    yield
    assert len(outbox) == before
