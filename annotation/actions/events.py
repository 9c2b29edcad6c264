"""The audit log: every action that changes something says so here, in the same transaction."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from django.db import transaction

from accounts.models import User
from annotation.models import Enrollment, Event, Study


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
    """Append one event. ``by`` is the researcher who did it, ``enrollment`` the annotator who did it,
    ``member`` the one whose role it is about.
    """
    return Event.objects.create(
        study=study,
        type=type,
        actor=by,
        enrollment=enrollment,
        member=member,
        subject=subject[:100],
        note=note,
        at=now,
    )


@transaction.atomic
def note_refused_address(*, study: Study, why: str, now: datetime) -> None:
    """Say in the log that somebody's address opened nothing, and why; never whose it was."""
    record_event(study=study, type=Event.Type.VISIT_REFUSED, now=now, subject="address", note=why)


def record_events(
    *,
    study: Study,
    type: Event.Type,
    now: datetime,
    by: User | None = None,
    rows: Iterable[tuple[Enrollment | None, str, str]],
) -> None:
    """Append many events of one kind, each of (enrollment, subject, note)."""
    Event.objects.bulk_create(
        Event(
            study=study, type=type, actor=by, enrollment=enrollment, subject=subject[:100], note=note, at=now
        )
        for enrollment, subject, note in rows
    )
