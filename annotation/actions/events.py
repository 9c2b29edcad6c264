"""Write the audit log. Every action that changes something records it in the same transaction."""

from collections.abc import Iterable
from datetime import datetime

from django.conf import settings
from django.db import transaction

from accounts.models import User
from annotation.alert_kinds import CAUSES, AlertKind
from annotation.models import Alert, Enrollment, Event, Membership, Study, Webhook


def record_event(
    *,
    study: Study,
    type: Event.Type,
    now: datetime,
    by: User | None = None,
    enrollment: Enrollment | None = None,
    member: User | None = None,
    subject: str = "",
    note: str = "",
) -> Event:
    """Append one event, and queue its alerts. ``by`` is the acting researcher, ``enrollment`` the acting
    annotator, and ``member`` the researcher whose role it is about.
    """
    event = Event.objects.create(
        study=study,
        type=type,
        actor=by,
        enrollment=enrollment,
        member=member,
        subject=subject[:100],
        note=note,
        at=now,
    )
    if type in CAUSES:
        _queue_alerts(event, CAUSES[type])
    return event


def record_about(
    *,
    person: Enrollment,
    type: Event.Type,
    now: datetime,
    by: User | None = None,
    subject: str = "",
    note: str = "",
) -> Event:
    """Append one event about an annotator to the log of their study."""
    return record_event(
        study=person.study, type=type, now=now, by=by, enrollment=person, subject=subject, note=note
    )


def _queue_alerts(event: Event, kind: AlertKind) -> None:
    """Write the outbox: an alert to each webhook and member that wants this kind, but not to the actor."""
    hooks = Webhook.objects.filter(study=event.study_id, kinds__contains=[kind], removed_at=None)
    members = Membership.objects.filter(study=event.study_id, alerts__contains=[kind], user__is_active=True)
    members = members.exclude(user__email="").exclude(user=event.actor_id)
    if event.member_id:
        members = members.filter(user=event.member_id)
    to: list[dict[str, int]] = [{"webhook_id": pk} for pk in hooks.values_list("pk", flat=True)]
    if settings.SENDS_MAIL:
        to += [{"user_id": pk} for pk in members.values_list("user", flat=True)]
    Alert.objects.bulk_create(
        Alert(study_id=event.study_id, kind=kind, event=event, due_at=event.at, **one) for one in to
    )


@transaction.atomic
def note_refused_address(*, study: Study, why: str, now: datetime) -> None:
    """Record that a link was refused, and why; never whose link it was."""
    record_event(study=study, type=Event.Type.VISIT_REFUSED, now=now, subject="address", note=why)


def record_events(
    *,
    study: Study,
    type: Event.Type,
    now: datetime,
    by: User | None = None,
    rows: Iterable[tuple[Enrollment | None, str, str]],
) -> None:
    """Append many events of one kind that alerts nobody, each of (enrollment, subject, note)."""
    Event.objects.bulk_create(
        Event(
            study=study, type=type, actor=by, enrollment=enrollment, subject=subject[:100], note=note, at=now
        )
        for enrollment, subject, note in rows
    )
