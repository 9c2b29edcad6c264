"""Send what the outbox holds for one recipient. Called by workers, never inside a request."""

from datetime import datetime

from annotation.actions import claim_alerts, settle_alerts
from annotation.models import Alert, Membership, Webhook
from annotation.rights import Right, rights_in
from dashboard.alerts.messages import mail, webhook_body
from dashboard.alerts.webhooks import WebhookFailed, post, signed_headers
from recruitment.errors import MailFailed, MailRefused
from recruitment.mails import hand_over

Recipient = tuple[int, int | None, int | None]
"""Ids of the study, and of the user or the webhook."""
AT_ONCE = 100
"""Alerts in one mail."""
MOST_REQUESTS = 20
"""Requests to one webhook in one task: with all their timeouts they take less than a lease."""


def recipients(*, now: datetime) -> list[Recipient]:
    """Return whoever has alerts due."""
    found = Alert.objects.due(now).order_by().values_list("study", "user", "webhook")
    return list(found.distinct())


def deliver(recipient: Recipient, *, now: datetime) -> int:
    """Send a recipient's due alerts: one mail with all of them, or one webhook request. Return how many.

    A worker that dies after sending and before noting it leaves a lease, after which another one sends
    again; the id of a webhook's request stays the same, so that receivers can tell.
    """
    study_id, user_id, webhook_id = recipient
    most = AT_ONCE if user_id else 1
    alerts = claim_alerts(study_id=study_id, user_id=user_id, webhook_id=webhook_id, most=most, now=now)
    if not alerts:
        return 0
    try:
        if user_id:
            _mail(alerts, study_id, user_id)
        else:
            _request(alerts[0], now=now)
    except (MailFailed, WebhookFailed, _Unwanted, MailRefused) as error:
        for_good = isinstance(error, _Unwanted | MailRefused)
        settle_alerts(alerts=alerts, now=now, failure=str(error), for_good=for_good)
        return 0
    settle_alerts(alerts=alerts, now=now)
    return len(alerts)


class _Unwanted(Exception):
    """The recipient left the study or has no address any more."""


def _mail(alerts: list[Alert], study_id: int, user_id: int) -> None:
    found = Membership.objects.select_related("study", "user").filter(study=study_id, user=user_id).first()
    if found is None or not found.user.email or Right.LOOK not in rights_in(found.user, found.study):
        raise _Unwanted("No longer a member with an e-mail address.")
    rows = Alert.objects.filter(pk__in=[alert.pk for alert in alerts]).order_by("pk")
    hand_over(mail(list(rows.select_related("study", "event__enrollment")), found))


def _request(alert: Alert, *, now: datetime) -> None:
    alert = Alert.objects.select_related("study", "event__enrollment", "webhook").get(pk=alert.pk)
    hook, body = alert.webhook, webhook_body(alert)
    assert isinstance(hook, Webhook)  # the outbox's constraint
    headers = signed_headers(hook, message_id=f"alert_{alert.pk}", body=body, now=now)
    post(hook.url, headers=headers, body=body)
