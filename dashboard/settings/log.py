"""Queries of a study's audit log, newest first: filtered, by page, or as a stream.

A page begins after an event, not after a number of them, and every filter has an index in the order of the
log (``annotation.models.Event``). So every page costs the same, even among millions of votes.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet

from accounts.models import User
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
"""Everyday events of participants. The other kinds are decisions of members and the system."""
DECISIONS = tuple(kind for kind in Event.Type if kind not in EVERYDAY)
COLUMNS = ("number", "at", "kind", "who", "annotator", "subject", "note")


@dataclass(frozen=True, slots=True)
class LogFilter:
    """Filters of the log; empty ones match everything. ``until`` is exclusive.

    ``decisions``: only :data:`DECISIONS`; can be combined with days alone. ``closed``: ids of hidden checks
    whose failures are left out, since they reveal the accepted answers.
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
    wanted = {
        "type": chosen.kind,
        "actor": chosen.who,
        "enrollment": chosen.person,
        "at__gte": chosen.since,
        "at__lt": chosen.until,
    }
    found = found.filter(**{name: value for name, value in wanted.items() if value})
    if chosen.closed:
        found = found.exclude(type=Event.Type.CHECK_FAILED, note__in=list(chosen.closed))
    if before:
        # The first condition is implied by the second, and is the one that an index can begin at.
        found = found.filter(Q(at__lte=before.at), Q(at__lt=before.at) | Q(pk__lt=before.pk))
    return found


def newest(study: Study, chosen: LogFilter, size: int, *, before: Event | None = None) -> list[Event]:
    """Return the first ``size`` of :func:`events_of`, or of its decisions.

    Among millions of votes, decisions may be far apart. So the newest of each kind are read from the end of
    its index, and merged.
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
    """Return, by the number of each event about a vote, the id of its story. One query."""
    about = {event.pk: int(event.subject[5:]) for event in events if _VOTE.fullmatch(event.subject)}
    votes = Vote.objects.filter(pk__in=about.values(), assignment__enrollment__study=study)
    stories = dict(votes.values_list("pk", "assignment__story__story_id"))
    return {event: stories[vote] for event, vote in about.items() if vote in stories}


def stream_of(study: Study, chosen: LogFilter) -> Iterator[Event]:
    """Stream all matching events with :data:`AT_ONCE` in memory at a time.

    Each batch starts after the last event read, so no cursor or transaction stays open while a slow client
    downloads. Events never change, and new ones come at the other end.
    """
    last: Event | None = None
    while True:
        batch = newest(study, chosen, AT_ONCE, before=last)
        yield from batch
        if len(batch) < AT_ONCE:
            return
        last = batch[-1]


def row_of(study: Study, event: Event) -> dict[str, Any]:
    """Return an event as the page and the files show it, with participants under their pseudonyms."""
    return {
        "number": event.pk,
        "at": event.at.isoformat(),
        "kind": event.type,
        "who": event.actor.get_username() if event.actor else None,
        "annotator": event.enrollment.pseudonym if event.enrollment else None,
        "subject": event.subject,
        "note": event.note,
    }


def researchers_in(study: Study) -> QuerySet[User]:
    """Return every researcher who did something in the study, current member or not."""
    did = Event.objects.filter(study=study, actor=OuterRef("pk"))
    return User.objects.filter(Exists(did)).order_by("username")
