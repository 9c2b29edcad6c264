"""Mails, sent in the background: ids in, one call. A mail may come twice; it never stays out unseen."""

from __future__ import annotations

from typing import Any

from django.utils import timezone

from accounts.models import User
from recruitment import actions
from recruitment.errors import MailFailed
from tomannot.celery import task

AGAIN: dict[str, Any] = {
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
