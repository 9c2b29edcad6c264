"""The audit log of a study, read from its end: filtered, a page at a time, or as a stream. No writes.

A page begins after an event, not after a number of them, and every filter has an index in the order in
which the log is read (``annotation.models.Event``). So the first page and the thousandth cost the same,
also among millions of votes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet

from accounts.models import User
from annotation import rules
from annotation.models import Enrollment, Event, Study, Vote

_VOTE = re.compile(r"vote \d{1,18}")
AT_ONCE = 2000
"""Events that a stream has in memory."""
EVERYDAY = (
    Event.Type.CONSENT_GIVEN,
    Event.Type.CONSENT_DECLINED,
    Event.Type.ATTEMPT_STARTED,
    Event.Type.ATTEMPT_SUBMITTED,
    Event.Type.VISIT_ARRIVED,
    Event.Type.VOTE_SUBMITTED,
    Event.Type.VOTE_CHANGED,
    Event.Type.CHECK_FAILED,
)
"""What people who answer do all the time. The other kinds are what colleagues and the system decided."""
DECISIONS = tuple(kind for kind in Event.Type if kind not in EVERYDAY)
COLUMNS = ("number", "at", "kind", "who", "annotator", "subject", "note")


@dataclass(frozen=True, slots=True)
class LogFilter:
    """Which events are asked for; what is empty asks for nothing. ``until`` is not included.

    ``decisions``: only :data:`DECISIONS`, where nothing but days is asked for beside it. ``closed``: ids of
    hidden checks of which it is left out who failed them, since that tells what is accepted.
    """

    decisions: bool = False
    kind: str = ""
    who: User | None = None
    person: Enrollment | None = None
    since: datetime | None = None
    until: datetime | None = None
    closed: frozenset[str] = frozenset()


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
    if chosen.closed:
        found = found.exclude(type=Event.Type.CHECK_FAILED, note__in=list(chosen.closed))
    if before:
        # The first condition is implied by the second, and is the one that an index can begin at.
        found = found.filter(Q(at__lte=before.at), Q(at__lt=before.at) | Q(pk__lt=before.pk))
    return found


def newest(study: Study, chosen: LogFilter, size: int, *, before: Event | None = None) -> list[Event]:
    """The first ``size`` of :func:`events_of`, and of the decisions alone where those are asked for.

    Among millions of votes a decision may be far from the next one. So the newest of each kind are taken,
    each from the end of its index, and of these the newest.
    """
    if not chosen.decisions or chosen.kind or chosen.who or chosen.person:
        return list(events_of(study, chosen, before=before)[:size])
    kinds = [
        events_of(study, replace(chosen, kind=kind), before=before).values_list("at", "id")[:size]
        for kind in DECISIONS
    ]
    found = kinds[0].union(*kinds[1:], all=True).order_by("-at", "-id")[:size]
    return list(events_of(study, LogFilter()).filter(pk__in=[number for _at, number in found]))


def stories_of(study: Study, events: Sequence[Event]) -> dict[int, str]:
    """Per event about a vote, by the event's number: the id of its story. One query."""
    about = {event.pk: int(event.subject[5:]) for event in events if _VOTE.fullmatch(event.subject)}
    votes = Vote.objects.filter(pk__in=about.values(), assignment__enrollment__study=study)
    stories = dict(votes.values_list("pk", "assignment__story__story_id"))
    return {event: stories[vote] for event, vote in about.items() if vote in stories}


def stream_of(study: Study, chosen: LogFilter) -> Iterator[Event]:
    """The same events, all of them, with :data:`AT_ONCE` in memory at a time.

    It reads on from the event it stopped at, so no cursor and no transaction stays open while a slow
    client takes the file. Events are never changed or deleted, and new ones come at the other end.
    """
    last: Event | None = None
    while True:
        batch = newest(study, chosen, AT_ONCE, before=last)
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
