"""The test belongs to one visit: the one in which it was done, or a later one if that was lost. Reads only.

Ids in addresses are unsigned, so two visits may name one person. A test counts and is paid with the first
visit that the platform confirms, and with no other.
"""

from datetime import datetime

from django.db.models import Exists, F, OuterRef, Q, QuerySet

from annotation.models import Enrollment, WorkSession
from recruitment.marketplace import HANDED_IN
from recruitment.models import Campaign, Posting, Visit

CARRIED = Q(session__test_finished_at__lt=F("session__opened_at"))
"""Visits with a test of an earlier visit, perhaps by another person who typed the same id."""
State = WorkSession.State


def lost_test(person: Enrollment, posting: Posting, *, now: datetime) -> WorkSession | None:
    """Return the session of the newest test that a visit in this posting may hand in; None without one.

    Its own visit is over, and the platform does not list it as handed in. An earlier visit in the same
    posting is over, too: no platform gives anybody the same one twice.
    """
    over = (
        Q(session__state=State.DOUBTED)
        | Q(return_reported_at__isnull=False)
        | Q(session__expires_at__lte=now)
    )
    finished = Q(session__test_finished_at__isnull=False)
    is_stopped = person.state in (Enrollment.State.SUSPENDED, Enrollment.State.WITHDRAWN)
    lost = (
        _tests(person)
        .filter(finished | Q(session__test_begun=True) if is_stopped else finished)
        .filter(over | Q(posting=posting), decided_manually=False)
        .exclude(session__state=State.CONFIRMED)
        .exclude(submission__status__in=HANDED_IN)
        .exclude(Exists(_confirmed_with("session", "enrollment")))
        .select_related("session")
        .order_by(F("session__test_finished_at").desc(nulls_last=True), "-pk")
        .first()
    )
    return lost.session if lost else None


def is_handed_in_elsewhere(session: WorkSession) -> bool:
    """Tell whether the platform has confirmed another visit with this test, or a finished one."""
    if session.story_limit or session.state == State.CONFIRMED:
        return False
    others = _tests(session.enrollment).filter(
        session__state=State.CONFIRMED, session__test_finished_at__isnull=False
    )
    if session.test_finished_at:
        others = others.filter(session__test_finished_at=session.test_finished_at)
    return others.exists()


def handed_in_elsewhere() -> QuerySet[Visit]:
    """Return confirmed visits with the test of the visit of an outer mismatch."""
    return _confirmed_with("visit__session", "visit__enrollment")


def unproven_visits(person: Enrollment) -> QuerySet[Visit]:
    """Return open visits that are worth nothing if somebody else came in the person's name.

    Not those that the platform lists as handed in, nor those of whoever came and found the test taken.
    """
    claimed = Visit.objects.filter(
        enrollment=person, session__state=State.OPEN, session__identity_claimed=True
    ).exclude(submission__status__in=HANDED_IN)
    return claimed.exclude(CARRIED).order_by("pk")


def may_be_somebody_else(visit: Visit) -> bool:
    """Tell whether the test that an unproven visit hands in may have been taken by another person."""
    carried = Visit.objects.filter(CARRIED, pk=visit.pk, session__identity_claimed=True)
    return carried.exists()


def _tests(person: Enrollment) -> QuerySet[Visit]:
    return Visit.objects.filter(enrollment=person, campaign__purpose=Campaign.Purpose.TEST)


def _confirmed_with(session: str, enrollment: str) -> QuerySet[Visit]:
    return Visit.objects.filter(
        enrollment=OuterRef(enrollment),
        session__state=State.CONFIRMED,
        session__test_finished_at=OuterRef(f"{session}__test_finished_at"),
    )
