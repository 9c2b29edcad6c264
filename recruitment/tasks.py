"""Mails, sent in the background: ids in, one call. A mail may come twice.

One that is given up, because the server refuses it or never answered, is in the log of the studies
concerned and in the worker's.
"""

from __future__ import annotations

from typing import Any

from celery import Task
from django.utils import timezone

from accounts.models import User
from recruitment import actions
from recruitment.errors import MailFailed, MailRefused
from tomannot.celery import task


class MailTask(Task):  # type: ignore[type-arg]  # not subscriptable at run time
    """A task whose first two arguments are the identity and the enrollment (or None) that a mail is for."""

    def on_failure(self, exc: Exception, task_id: str, args: Any, kwargs: Any, einfo: Any) -> None:
        """Called once, when nothing is tried any more."""
        if isinstance(exc, MailFailed | MailRefused):
            actions.note_not_mailed(identity_id=args[0], enrollment_id=args[1], why=exc, now=timezone.now())


AGAIN: dict[str, Any] = {
    "base": MailTask,
    "autoretry_for": (MailFailed,),
    "retry_backoff": 30,
    "retry_backoff_max": 3600,
    "max_retries": 8,
}
"""A mail server that does not answer is tried again for some hours, less and less often."""


@task(time_limit=60, **AGAIN)
def mail_confirmation(identity_id: int, enrollment_id: int) -> None:
    """Ask an address whether it is the person's own."""
    actions.mail_confirmation(identity_id=identity_id, enrollment_id=enrollment_id)


@task(time_limit=60, **AGAIN)
def mail_change(identity_id: int, enrollment_id: int) -> None:
    """Tell an address that another one is to take its place."""
    actions.mail_change(identity_id=identity_id, enrollment_id=enrollment_id)


@task(time_limit=60, **AGAIN)
def mail_links(identity_id: int, enrollment_id: int | None, by_id: int | None) -> int:
    """Send a person their links; returns how many."""
    return actions.mail_links(
        identity_id=identity_id, enrollment_id=enrollment_id, by=_researcher(by_id), now=timezone.now()
    )


@task(time_limit=60, **AGAIN)
def mail_invitation(identity_id: int, enrollment_id: int, by_id: int | None) -> None:
    """Send an invitation."""
    actions.mail_invitation(
        identity_id=identity_id, enrollment_id=enrollment_id, by=_researcher(by_id), now=timezone.now()
    )


def _researcher(user_id: int | None) -> User | None:
    return User.objects.filter(pk=user_id).first() if user_id else None
