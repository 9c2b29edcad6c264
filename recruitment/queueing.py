"""Handing work to the workers."""

from __future__ import annotations

from django.db import transaction
from django.utils.translation import gettext as _
from kombu.exceptions import OperationalError

from recruitment.errors import NotQueued
from tomannot.celery import app


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
        transaction.on_commit(lambda: app.send_task(task, args=list(ids)), robust=True)


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
