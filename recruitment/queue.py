"""Queue tasks for the workers, and name the locks by which one worker at a time does a task for a campaign.

A connection holds these advisory locks, not a transaction: they last as long as a platform takes to answer,
and PostgreSQL releases them when the worker is killed.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime, timedelta

from django.db import transaction
from django.utils.translation import gettext as _
from kombu.exceptions import OperationalError

from recruitment.errors import NotQueued
from tomannot.celery import app

PUBLISH, RECONCILE, SEND = 0x746F6D65, 0x746F6D66, 0x746F6D67
"""The first halves of the locks' keys ("tome", "tomf", "tomg"); the second is the campaign's id."""

CARRY_OUT_TASK = "recruitment.tasks.carry_out"
RECONCILE_TASK = "recruitment.tasks.reconcile"
SEND_TASK = "recruitment.tasks.send_due"
FIRST_PAUSE, LONGEST_PAUSE = timedelta(minutes=5), timedelta(hours=6)

logger = logging.getLogger(__name__)
_collected: ContextVar[dict[tuple[str, tuple[int, ...]], None] | None] = ContextVar("collected", default=None)


def queue_mail(task: str, *ids: int | str | None) -> None:
    """Queue a mail task on commit. Queue ids and a mail's language, no address or token.

    The commit raises :class:`NotQueued` when the broker does not take it; what was to be stored is stored.
    """
    problem = _(
        "The mail could not be queued: Redis is not responding. Everything else is stored. "
        "Send the link again when Redis is back."
    )
    transaction.on_commit(lambda: queue_or_fail(task, *ids, problem=problem))


def queue_or_fail(task: str, *ids: int | str | None, problem: str = "") -> None:
    """Queue a task now, because a person asked for it. Raise :class:`NotQueued`."""
    try:
        app.send_task(task, args=list(ids))
    except OperationalError as error:
        message = _("The task could not be queued: Redis is not responding. Try again later.")
        raise NotQueued(problem or message) from error


def queue_soon(task: str, *ids: int, after: int = 0) -> None:
    """Queue a task on commit that a sweep repeats: without a broker it is late, not lost, and logged.

    ``after``: not before so many seconds are over.
    """
    if after:
        transaction.on_commit(lambda: app.send_task(task, args=list(ids), countdown=after), robust=True)
    else:
        transaction.on_commit(lambda: _queue_or_collect(task, ids), robust=True)


def next_try(waits_since: datetime | None, *, now: datetime) -> datetime:
    """Return when to ask again for what waits: after as long as it has waited, within limits."""
    return now + min(max(now - (waits_since or now), FIRST_PAUSE), LONGEST_PAUSE)


@contextmanager
def queue_once() -> Iterator[None]:
    """Collect the tasks that this block queues, and queue each once when it ends."""
    wanted: dict[tuple[str, tuple[int, ...]], None] = {}
    outside = _collected.set(wanted)
    try:
        yield
    finally:
        _collected.reset(outside)
        for task, ids in wanted:
            try:
                _queue_or_collect(task, ids)
            except OperationalError:
                logger.exception("%s %s could not be queued: a sweep does it later.", task, ids)


def _queue_or_collect(task: str, ids: tuple[int, ...]) -> None:
    wanted = _collected.get()
    if wanted is None:
        app.send_task(task, args=list(ids))
    else:
        wanted[task, ids] = None
