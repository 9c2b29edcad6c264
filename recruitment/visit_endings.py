"""Ends and outcomes of visits from a platform, and the visit that the test belongs to. Reads only.

A test belongs to the visit in which it was done, or to a later one if that was lost. Ids in addresses are
unsigned, so two visits may name one person. A test counts and is paid with the first visit that the platform
confirms, and with no other.
"""

from datetime import datetime

from django.db.models import Exists, F, OuterRef, Q, QuerySet

from annotation import queries as annotation_queries, rules
from annotation.models import Enrollment, WorkSession
from annotation.rules import STEPS
from recruitment.arrival_rules import Ending, VisitOutcome, ending, visit_outcome
from recruitment.marketplace import HANDED_IN
from recruitment.models import Campaign, Posting, Submission, Visit

CARRIED = Q(session__test_finished_at__lt=F("session__opened_at"))
"""Visits with a test of an earlier visit, perhaps by another person who typed the same id."""
SessionState = WorkSession.State


def lost_test(person: Enrollment, posting: Posting, *, now: datetime) -> WorkSession | None:
    """Return the session of the newest test that a visit in this posting may hand in; None without one.

    Its own visit is over, and the platform does not list it as handed in. An earlier visit in the same
    posting is over, too: no platform gives anybody the same one twice.
    """
    over = (
        Q(session__state=SessionState.DOUBTED)
        | Q(return_reported_at__isnull=False)
        | Q(session__expires_at__lte=now)
    )
    finished = Q(session__test_finished_at__isnull=False)
    is_stopped = person.state in (Enrollment.State.SUSPENDED, Enrollment.State.WITHDRAWN)
    lost = (
        _tests(person)
        .filter(finished | Q(session__test_begun=True) if is_stopped else finished)
        .filter(over | Q(posting=posting), decided_manually=False)
        .exclude(session__state=SessionState.CONFIRMED)
        .exclude(submission__status__in=HANDED_IN)
        .exclude(Exists(confirmed_with("session", "enrollment")))
        .select_related("session")
        .order_by(F("session__test_finished_at").desc(nulls_last=True), "-pk")
        .first()
    )
    return lost.session if lost else None


def is_handed_in_elsewhere(session: WorkSession) -> bool:
    """Return True if the platform has confirmed another visit with this test, or a finished one."""
    if session.story_limit or session.state == SessionState.CONFIRMED:
        return False
    others = _tests(session.enrollment).filter(
        session__state=SessionState.CONFIRMED, session__test_finished_at__isnull=False
    )
    if session.test_finished_at:
        others = others.filter(session__test_finished_at=session.test_finished_at)
    return others.exists()


def unproven_visits(person: Enrollment) -> QuerySet[Visit]:
    """Return open visits that are worth nothing if somebody else came in the person's name.

    Not those that the platform lists as handed in, nor those of whoever came and found the test taken.
    """
    claimed = Visit.objects.filter(
        enrollment=person, session__state=SessionState.OPEN, session__identity_claimed=True
    ).exclude(submission__status__in=HANDED_IN)
    return claimed.exclude(CARRIED).order_by("pk")


def may_be_somebody_else(visit: Visit) -> bool:
    """Return True if the test that an unproven visit hands in may have been taken by another person."""
    carried = Visit.objects.filter(CARRIED, pk=visit.pk, session__identity_claimed=True)
    return carried.exists()


def _tests(person: Enrollment) -> QuerySet[Visit]:
    return Visit.objects.filter(enrollment=person, campaign__purpose=Campaign.Purpose.TEST)


def confirmed_with(session: str, enrollment: str) -> QuerySet[Visit]:
    """Return confirmed visits with the test of an outer session, at these lookup paths."""
    return Visit.objects.filter(
        enrollment=OuterRef(enrollment),
        session__state=SessionState.CONFIRMED,
        session__test_finished_at=OuterRef(f"{session}__test_finished_at"),
    )


State = Enrollment.State
UNFINISHED = "unfinished"
"""Query string with which people ask to hand in fewer stories than they were asked for."""


def ending_of(visit: Visit, *, now: datetime) -> Ending:
    """Return how the visit would end now. It must carry its session and enrollment with the study."""
    session, person = visit.session, visit.enrollment
    assert session is not None
    # A test that was done in this session, or was lost in an earlier one.
    is_finished = session.story_limit == 0 and session.test_finished_at is not None
    has_test = is_finished and not is_handed_in_elsewhere(session)
    # They consented (whoever is qualified had the test in another visit) and came in time.
    agreed = person.state == State.CONSENTED or bool(session.story_limit and person.state == State.QUALIFIED)
    is_in_time = session.state == WorkSession.State.OPEN and now < session.expires_at
    return ending(
        story_limit=session.story_limit,
        stories_submitted=session.stories_submitted,
        passed=annotation_queries.test_outcome(person) if has_test else None,
        left=person.state in (State.DECLINED, State.WITHDRAWN),
        may_go_on=may_go_on(person, session, now=now),
        handed_in=visit.handed_in_at is not None,
        began_test=session.test_begun and not visit.decided_manually and not is_handed_in_elsewhere(session),
        found_nothing=agreed and is_in_time and not session.assignments.exists(),
    )


def why_ended(
    person: Enrollment, session: WorkSession | None = None, *, now: datetime | None = None
) -> Visit.End:
    """Return why a person, in this session if any, ends or would now end with less work than asked for.

    Without a session, a study that is not open says nothing about the past: whoever could go on has left.
    """
    reason = annotation_queries.serving_refusal(person)
    if reason in (rules.Reason.WITHDRAWN, rules.Reason.DECLINED):
        return Visit.End.LEFT
    if reason == rules.Reason.CAP_REACHED:
        return Visit.End.LIMIT
    if not session and reason in (rules.Reason.STUDY_PAUSED, rules.Reason.STUDY_CLOSED):
        return Visit.End.STOPPED if person.state == State.SUSPENDED else Visit.End.LEFT
    if reason and reason not in STEPS:
        return Visit.End.STOPPED
    if session and now and now >= session.expires_at:
        return Visit.End.TIME
    return Visit.End.LEFT if may_go_on(person, session, now=now) else Visit.End.NO_STORY


def outcome_of(visit: Visit) -> VisitOutcome | None:
    """Return the visit's outcome, or None while it is open. It must carry its session and submission."""
    assert visit.session is not None
    work: Submission | None = getattr(visit, "submission", None)
    return visit_outcome(session=visit.session.state, status=work.status if work else None)


def may_go_on(person: Enrollment, session: WorkSession | None = None, *, now: datetime | None = None) -> bool:
    """Return True if the person can be given something to do now, in this session if any. Take nothing."""
    if session and session.state == WorkSession.State.DOUBTED:
        return False
    reason = annotation_queries.serving_refusal(person)
    if session and session.story_limit == 0:
        may_begin = reason in STEPS and annotation_queries.joining_refusal(person) is None
        return may_begin or annotation_queries.is_in_test(person)
    if session and now:
        reason = reason or rules.session_refusal(
            state=session.state,
            story_limit=session.story_limit,
            stories_submitted=session.stories_submitted,
            expires_at=session.expires_at,
            now=now,
        )
    if reason in STEPS and annotation_queries.joining_refusal(person):
        return False
    if reason in (None, rules.Reason.NOT_QUALIFIED_YET):
        return annotation_queries.stories_left(person, at_most=1) > 0
    return reason in STEPS
