"""Handing work to the workers."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from django.db import transaction
from django.utils.translation import gettext as _
from kombu.exceptions import OperationalError

from recruitment.errors import NotQueued
from tomannot.celery import app

logger = logging.getLogger(__name__)
_gathered: ContextVar[dict[tuple[str, tuple[int, ...]], None] | None] = ContextVar("gathered", default=None)


def later(task: str, *ids: int | str | None) -> None:
    """Have a worker do it once everything is committed. Ids, and the language of a mail: no address and no
    token is queued.

    The commit raises :class:`NotQueued` when the broker does not take it; what was to be stored is stored.
    """
    transaction.on_commit(lambda: _queue(task, list(ids)))


def now_or_never(task: str, *ids: int) -> None:
    """Have a worker do it at once, because somebody has just asked. Raises :class:`NotQueued`."""
    try:
        app.send_task(task, args=list(ids))
    except OperationalError as error:
        raise NotQueued(
            _("Nobody could be asked, because Redis does not answer. Try again later.")
        ) from error


def soon(task: str, *ids: int, after: int = 0) -> None:
    """The same for what a sweep sends if it could not be queued: then it is late, not lost, and logged.

    ``after``: not before so many seconds are over.
    """
    if after:
        transaction.on_commit(lambda: app.send_task(task, args=list(ids), countdown=after), robust=True)
    else:
        transaction.on_commit(lambda: _now_or_gathered(task, ids), robust=True)


@contextmanager
def gathered() -> Iterator[None]:
    """What is to be done soon is queued once, when this block ends, however often it was asked for in it."""
    wanted: dict[tuple[str, tuple[int, ...]], None] = {}
    outside = _gathered.set(wanted)
    try:
        yield
    finally:
        _gathered.reset(outside)
        for task, ids in wanted:
            try:
                _now_or_gathered(task, ids)
            except OperationalError:
                logger.exception("%s %s could not be queued: a sweep does it later.", task, ids)


def _now_or_gathered(task: str, ids: tuple[int, ...]) -> None:
    wanted = _gathered.get()
    if wanted is None:
        app.send_task(task, args=list(ids))
    else:
        wanted[task, ids] = None


def _queue(task: str, ids: list[int | str | None]) -> None:
    try:
        app.send_task(task, args=ids)
    except OperationalError as error:
        raise NotQueued(
            _(
                "The mail could not be queued, because Redis does not answer. Everything else is stored. "
                "Have the link sent again when Redis is back."
            )
        ) from error
