"""Background tasks for mails and platforms: ids in, one call. A mail may come twice.

A mail that is given up (refused, or never answered) is logged in its studies and by the worker.
"""

from typing import Any

from accounts.models import User
from annotation.locks import alone
from recruitment import actions
from recruitment.errors import MailFailed, MailRefused
from recruitment.mails import Kind
from recruitment.marketplace import NotConfigured, Unreachable
from recruitment.models import Campaign
from recruitment.platforms import marketplace_of
from recruitment.queue import CARRY_OUT_TASK, RECONCILE, RECONCILE_TASK, SEND_TASK, queue_once
from recruitment.reconciliation.queries import campaigns_to_ask
from tomannot import clock
from tomannot.celery import app, task
from tomannot.metrics import TimedTask


class MailTask(TimedTask):
    """A task whose first two arguments are the identity and the enrollment (or None) that a mail is for."""

    def on_failure(self, exc: Exception, task_id: str, args: Any, kwargs: Any, einfo: Any) -> None:
        """Log a mail that is given up."""
        if isinstance(exc, MailFailed | MailRefused):
            actions.record_mail_failure(identity_id=args[0], enrollment_id=args[1], why=exc, now=clock.now())


RETRY: dict[str, Any] = {
    "base": MailTask,
    "autoretry_for": (MailFailed,),
    "retry_backoff": 30,
    "retry_backoff_max": 3600,
    "max_retries": 8,
}
"""A mail server that does not answer is tried again for some hours, less and less often."""


@task(time_limit=60, **RETRY)
def send_mail(identity_id: int, enrollment_id: int | None, kind: str, by_id: int | None = None) -> bool:
    """Send a mail to a person, about one study or all of theirs."""
    return actions.send_mail(
        kind=Kind(kind),
        identity_id=identity_id,
        enrollment_id=enrollment_id,
        by=_researcher(by_id),
        now=clock.now(),
    )


def _researcher(user_id: int | None) -> User | None:
    return User.objects.filter(pk=user_id).first() if user_id else None


# -- platforms


@task(time_limit=60)
def sweep_campaigns() -> None:
    """Queue comparisons of all campaigns, due payments and unfinished changes."""
    now = clock.now()
    actions.pause_without_stories(now=now)
    for campaign in campaigns_to_ask(now=now):
        app.send_task(RECONCILE_TASK, args=[campaign.pk])
    for campaign in Campaign.objects.filter(state__in=Campaign.UNDERWAY):
        app.send_task(CARRY_OUT_TASK, args=[campaign.pk])
    actions.update_groups(now=now)
    for campaign_id in actions.campaigns_with_due():
        app.send_task(SEND_TASK, args=[campaign_id])


@task(time_limit=3600, autoretry_for=(Unreachable,), retry_backoff=30, max_retries=8)
def carry_out(campaign_id: int) -> None:
    """Put a campaign on its platform, pause, resume or end it there, or go on with that."""
    campaign = Campaign.objects.select_related("study").get(pk=campaign_id)
    try:
        marketplace = marketplace_of(campaign)
    except NotConfigured as error:
        actions.record_problem(campaign=campaign, problem=str(error))
        raise
    actions.carry_out(campaign=campaign, marketplace=marketplace, now=clock.now())


@task(time_limit=1800, autoretry_for=(Unreachable,), retry_backoff=30, max_retries=3)
def reconcile(campaign_id: int) -> None:
    """Compare a campaign with its platform; one worker at a time, since the platform counts our calls."""
    with alone(RECONCILE, campaign_id) as nobody_else:
        if nobody_else:
            campaign = Campaign.objects.select_related("study").get(pk=campaign_id)
            try:
                marketplace = marketplace_of(campaign)
            except NotConfigured as error:
                actions.record_sync_problem(campaign=campaign, problem=str(error))
                raise
            with queue_once():
                actions.reconcile(campaign=campaign, marketplace=marketplace, now=clock.now())


@task(time_limit=480)
def send_due(campaign_id: int) -> None:
    """Send a campaign's due payments and grants; queue the rest behind other campaigns."""
    campaign = Campaign.objects.get(pk=campaign_id)
    if actions.send_due(campaign=campaign, marketplace=marketplace_of(campaign)):
        app.send_task(SEND_TASK, args=[campaign_id])


@task(time_limit=1800)
def retry_campaign(campaign_id: int, by_id: int) -> int:
    """Send everything of a campaign again that waits for the account or was refused; return how much."""
    campaign = Campaign.objects.get(pk=campaign_id)
    return actions.retry_campaign(campaign=campaign, by=_researcher(by_id), now=clock.now())
