"""Receivers of alerts: mails that go out at once, and a server for webhooks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from dashboard import tasks
from tests.doubles.webhooks import Receiver, receiving
from tomannot.celery import app


@pytest.fixture
def mailing(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """This site sends mail, and a delivery that is queued is done at once."""

    def send_task(name: str, args: Any = ()) -> None:
        if name == tasks.DELIVER_TASK:
            app.tasks[name](*args)

    settings.SENDS_MAIL = True
    monkeypatch.setattr(app, "send_task", send_task)


@pytest.fixture
def receiver(settings: Any) -> Iterator[Receiver]:
    with receiving() as found:
        settings.WEBHOOK_ALLOWED_ORIGINS = [found.origin]
        yield found
