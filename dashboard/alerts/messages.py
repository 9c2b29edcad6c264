"""Texts of alerts: lines of mails, and the bodies of webhooks."""

import json
from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.core.mail import EmailMessage
from django.db.models import Count
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import translation
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.actions.alerts import digest_window
from annotation.alert_kinds import AlertKind
from annotation.models import Alert, Event, Membership
from recruitment.links import absolute

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
        "about": event.subject,
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
        more = ngettext("%(count)s alert", "%(count)s alerts", len(lines)) % {"count": len(lines)}
        subject = f"{study.title}: {lines[0]['text'] if len(lines) == 1 else more}"
        context = {"lines": lines, "study": study, "settings": _absolute("alerts", study.slug)}
        body = render_to_string("dashboard/settings/mail_alerts.txt", context)
    return EmailMessage(
        subject=" ".join(subject.split()),
        body=body.strip() + "\n",
        to=[membership.user.email],
        headers={"Auto-Submitted": "auto-generated"},
    )


def _line(alert: Alert) -> dict[str, Any]:
    event = alert.event
    if event is None:
        return {"text": _("Daily digest"), "url": _url(alert), "details": _happened(alert)}
    if alert.kind == AlertKind.TEST:
        return {"text": _("This is a test: alerts reach you by e-mail"), "url": _url(alert), "details": []}
    name = event.enrollment.pseudonym if event.enrollment else ""
    about = " · ".join(filter(None, (event.get_type_display(), name, event.subject)))
    return {"text": about, "url": _url(alert), "details": [], "at": event.at}


def _happened(alert: Alert) -> list[str]:
    """Count the events of the digest's 24 hours by type."""
    assert alert.day is not None  # only digests come here
    since, until = digest_window(alert.day)
    found = Event.objects.filter(study=alert.study, at__gte=since, at__lt=until).order_by()
    counts = dict(found.values_list("type").annotate(Count("pk")))
    return [f"{kind.label}: {counts[kind]}" for kind in Event.Type if kind in counts]


def _url(alert: Alert) -> str:
    """Return the absolute address of the page to go to."""
    slug, event = alert.study.slug, alert.event
    if event and event.enrollment:
        return _absolute("person", slug, event.enrollment.pseudonym)
    if event and alert.kind == AlertKind.EXPERT_ASKED:
        return _absolute("expert", slug, int(event.subject.removeprefix("round ")))
    return _absolute(_PAGES.get(AlertKind(alert.kind), "overview"), slug)


def _absolute(name: str, *args: object) -> str:
    return absolute(reverse(f"dashboard:{name}", args=args))
