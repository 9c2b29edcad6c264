"""Fixtures of this room: desks, the worker at work at once, and the mails it sends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.core import mail
from django.core.mail import EmailMessage
from django.db import transaction

from tests.recruitment.handed_in import Desk
from tomannot.celery import app


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
