"""Write what the outbox holds for one recipient, and send it. Called by workers, never inside a request."""

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.conf import settings
from django.core.mail import EmailMessage
from django.db.models import Count
from django.urls import reverse
from django.utils import translation
from django.utils.translation import gettext as _

from annotation.actions import claim_alerts, settle_alerts
from annotation.actions.alerts import digest_window
from annotation.alert_kinds import AlertKind
from annotation.models import Alert, Event, Membership, Webhook
from annotation.rights import Right, rights_in
from dashboard.alerts.webhooks import WebhookFailed, post, signed_headers
from recruitment.errors import MailFailed, MailRefused
from recruitment.links import absolute
from recruitment.mails import compose, hand_over

_PAGES = {
    AlertKind.KEY_READY: "qualification",
    AlertKind.PAYMENT_MISMATCH: "mismatches",
    AlertKind.RELEASE_FINISHED: "releases",
}


def webhook_body(alert: Alert) -> bytes:
    """Return the JSON of an alert: names of things in the study and pseudonyms, nothing about a person."""
    event = alert.event
    assert event is not None  # digests are mails
    data = {
        "event": event.type,
        "study": alert.study.slug,
        "environment": alert.study.environment,
        "about": _about(event),
        "participant": event.enrollment.pseudonym if event.enrollment else None,
        "url": _url(alert),
    }
    document = {"type": alert.kind, "timestamp": event.at.isoformat(), "data": data}
    return json.dumps(document, separators=(",", ":")).encode()


def mail(alerts: Sequence[Alert], membership: Membership) -> EmailMessage:
    """Return one mail with these alerts of one study, in the language that its reader chose."""
    study = membership.study
    with translation.override(membership.language or settings.LANGUAGE_CODE):
        lines = [_line(alert) for alert in alerts]
        context = {"lines": lines, "study": study, "settings": _absolute("alerts", study.slug)}
        return compose("dashboard/settings/mail_alerts.txt", context, to=membership.user.email)


def _line(alert: Alert) -> dict[str, Any]:
    event = alert.event
    if event is None:
        assert alert.day is not None  # only digests have no event
        since, until = digest_window(alert.day)
        happened = Event.objects.filter(study=alert.study, at__gte=since, at__lt=until).order_by()
        counts = dict(happened.values_list("type").annotate(Count("pk")))
        details = [f"{kind.label}: {counts[kind]}" for kind in Event.Type if kind in counts]
        return {"text": _("Daily digest"), "url": _url(alert), "details": details}
    if alert.kind == AlertKind.TEST:
        return {"text": _("This is a test: alerts reach you by e-mail"), "url": _url(alert), "details": []}
    name = event.enrollment.pseudonym if event.enrollment else ""
    about = " · ".join(filter(None, (event.get_type_display(), name, _about(event))))
    return {"text": about, "url": _url(alert), "details": [], "at": event.at}


def _about(event: Event) -> str:
    """Return the subject; not the reason of a flag, which may hint at a disability (docs/adr/0044)."""
    return "" if event.type == Event.Type.ANNOTATOR_FLAGGED else event.subject


def _url(alert: Alert) -> str:
    slug, event = alert.study.slug, alert.event
    if event and event.enrollment:
        return _absolute("person", slug, event.enrollment.pseudonym)
    if event and alert.kind == AlertKind.EXPERT_ASKED:
        return _absolute("expert", slug, int(event.subject.removeprefix("round ")))
    return _absolute(_PAGES.get(AlertKind(alert.kind), "overview"), slug)


def _absolute(name: str, *args: object) -> str:
    return absolute(reverse(f"dashboard:{name}", args=args))


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
