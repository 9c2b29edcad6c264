"""Mails, and what platforms are asked, in the background: ids in, one call. A mail may come twice.

One that is given up, because the server refuses it or never answered, is in the log of the studies
concerned and in the worker's.
"""

from __future__ import annotations

from typing import Any

from celery import Task
from django.utils import timezone

from accounts.models import User
from annotation.locks import alone
from recruitment import actions
from recruitment.errors import MailFailed, MailRefused
from recruitment.locks import RECONCILE
from recruitment.marketplace import NotConfigured, Unreachable
from recruitment.models import Campaign
from recruitment.platforms import marketplace_of
from recruitment.queueing import gathered
from recruitment.reconciliation.queries import campaigns_to_ask, campaigns_to_carry_out
from tomannot.celery import app, task


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


# -- platforms


@task(time_limit=60)
def sweep_campaigns() -> None:
    """Have every campaign compared with its platform, and send what is due or could not be sent before."""
    now = timezone.now()
    for campaign in campaigns_to_ask(now=now):
        app.send_task("recruitment.tasks.reconcile", args=[campaign.pk])
    for campaign_id in campaigns_to_carry_out():
        app.send_task("recruitment.tasks.carry_out", args=[campaign_id])
    for order_id in actions.open_orders():
        app.send_task("recruitment.tasks.write_payments", args=[order_id])
    actions.keep_groups(now=now)
    for campaign_id in actions.campaigns_with_due():
        app.send_task("recruitment.tasks.send_due", args=[campaign_id])


@task(time_limit=3600, autoretry_for=(Unreachable,), retry_backoff=30, max_retries=8)
def carry_out(campaign_id: int) -> None:
    """Put a campaign on its platform, pause, resume or end it there, or go on with that."""
    campaign = Campaign.objects.select_related("study").get(pk=campaign_id)
    try:
        marketplace = marketplace_of(campaign)
    except NotConfigured as error:
        actions.note_problem(campaign=campaign, problem=str(error))
        raise
    actions.carry_out(campaign=campaign, marketplace=marketplace, now=timezone.now())


@task(time_limit=1800, autoretry_for=(Unreachable,), retry_backoff=30, max_retries=3)
def reconcile(campaign_id: int) -> None:
    """Compare a campaign with its platform; one worker at a time, since the platform counts our calls."""
    with alone(RECONCILE, campaign_id) as nobody_else:
        if nobody_else:
            campaign = Campaign.objects.select_related("study").get(pk=campaign_id)
            try:
                marketplace = marketplace_of(campaign)
            except NotConfigured as error:
                actions.note_sync_problem(campaign=campaign, problem=str(error))
                raise
            with gathered():
                actions.reconcile(campaign=campaign, marketplace=marketplace, now=timezone.now())


@task(time_limit=480)
def send_due(campaign_id: int) -> None:
    """Have the platform carry out what is due of a campaign; what is left is queued behind the others."""
    campaign = Campaign.objects.get(pk=campaign_id)
    if actions.send_due(campaign=campaign, marketplace=marketplace_of(campaign)):
        app.send_task("recruitment.tasks.send_due", args=[campaign_id])


@task(time_limit=300)
def write_payments(order_id: int) -> None:
    """Write the payments of an order; what is left is queued behind the others."""
    if actions.write_payments(order_id=order_id):
        app.send_task("recruitment.tasks.write_payments", args=[order_id])


@task(time_limit=1800)
def send_again(campaign_id: int, by_id: int) -> int:
    """Send everything of a campaign again that waits for better times or was refused; returns how much."""
    campaign = Campaign.objects.get(pk=campaign_id)
    return actions.ask_again_for_all(campaign=campaign, by=_researcher(by_id), now=timezone.now())
