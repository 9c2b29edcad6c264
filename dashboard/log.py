"""The audit log of a study, read from its end: filtered, a page at a time, or as a stream. No writes.

A page begins after an event, not after a number of them, and every filter has an index in the order in
which the log is read (``annotation.models.Event``). So the first page and the thousandth cost the same,
also among millions of votes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet

from accounts.models import User
from annotation import rules
from annotation.models import Enrollment, Event, Study

AT_ONCE = 2000
"""Events that a stream has in memory."""
COLUMNS = ("number", "at", "kind", "who", "annotator", "subject", "note")


@dataclass(frozen=True, slots=True)
class LogFilter:
    """Which events are asked for; what is empty asks for nothing. ``until`` is not included."""

    kind: str = ""
    who: User | None = None
    person: Enrollment | None = None
    since: datetime | None = None
    until: datetime | None = None


def events_of(study: Study, chosen: LogFilter, *, before: Event | None = None) -> QuerySet[Event]:
    """The study's events that pass the filter, the newest first; with ``before``, only older ones than it."""
    found = Event.objects.filter(study=study).select_related("actor", "enrollment").order_by("-at", "-pk")
    if chosen.kind:
        found = found.filter(type=chosen.kind)
    if chosen.who:
        found = found.filter(actor=chosen.who)
    if chosen.person:
        found = found.filter(enrollment=chosen.person)
    if chosen.since:
        found = found.filter(at__gte=chosen.since)
    if chosen.until:
        found = found.filter(at__lt=chosen.until)
    if before:
        # The first condition is implied by the second, and is the one that an index can begin at.
        found = found.filter(Q(at__lte=before.at), Q(at__lt=before.at) | Q(pk__lt=before.pk))
    return found


def stream_of(study: Study, chosen: LogFilter) -> Iterator[Event]:
    """The same events, all of them, with :data:`AT_ONCE` in memory at a time.

    It reads on from the event it stopped at, so no cursor and no transaction stays open while a slow
    client takes the file. Events are never changed or deleted, and new ones come at the other end.
    """
    last: Event | None = None
    while True:
        batch = list(events_of(study, chosen, before=last)[:AT_ONCE])
        yield from batch
        if len(batch) < AT_ONCE:
            return
        last = batch[-1]


def row_of(study: Study, event: Event) -> dict[str, Any]:
    """An event as the page and the files show it: people who answer only by their pseudonym here."""
    return {
        "number": event.pk,
        "at": event.at.isoformat(),
        "kind": event.type,
        "who": event.actor.get_username() if event.actor else None,
        "annotator": rules.pseudonym(study.pseudonym_key, event.enrollment.annotator_id)
        if event.enrollment
        else None,
        "subject": event.subject,
        "note": event.note,
    }


def researchers_in(study: Study) -> QuerySet[User]:
    """Everybody with an account who did something in the study, whether or not they belong to it now."""
    did = Event.objects.filter(study=study, actor=OuterRef("pk"))
    return User.objects.filter(Exists(did)).order_by("username")
