"""Ends and outcomes of visits from a platform. Reads only."""

from datetime import datetime

from annotation import actions as annotation_actions
from annotation import queries as annotation_queries
from annotation import rules
from annotation.models import Enrollment, WorkSession
from annotation.rules import STEPS
from recruitment.arrivals.ending import Ending, VisitOutcome, ending, visit_outcome
from recruitment.models import Submission, Visit
from recruitment.visit_tests import is_handed_in_elsewhere

State = Enrollment.State
UNFINISHED = "unfinished"
"""Query string with which people ask to hand in fewer stories than they were asked for."""


def ending_of(visit: Visit, *, now: datetime) -> Ending:
    """Return how the visit would end now. It must carry its session and enrollment with the study."""
    session, person = visit.session, visit.enrollment
    assert session is not None
    # A test that was done in this session, or was lost in an earlier one.
    has_test = session.story_limit == 0 and session.test_finished_at is not None
    return ending(
        story_limit=session.story_limit,
        stories_submitted=session.stories_submitted,
        passed=_passed(person) if has_test and not is_handed_in_elsewhere(session) else None,
        left=person.state in (State.DECLINED, State.WITHDRAWN),
        may_go_on=may_go_on(person, session, now=now),
        handed_in=visit.handed_in_at is not None,
        began_test=session.test_begun and not visit.decided_manually and not is_handed_in_elsewhere(session),
        found_nothing=_found_nothing(person, session, now=now),
    )


def _found_nothing(person: Enrollment, session: WorkSession, *, now: datetime) -> bool:
    """Tell whether a person who consented came in time and was never given a story or test."""
    is_in_time = session.state == WorkSession.State.OPEN and now < session.expires_at
    # Whoever is qualified had the test in another visit.
    agreed = person.state == State.CONSENTED or bool(session.story_limit and person.state == State.QUALIFIED)
    return agreed and is_in_time and not session.assignments.exists()


def end_of(visit: Visit, *, now: datetime) -> Visit.End:
    """Return why a visit ends with less work than asked for."""
    session, person = visit.session, visit.enrollment
    assert session is not None
    reason = rules.may_be_served(annotation_actions.serving_facts(person))
    if reason in (rules.Reason.WITHDRAWN, rules.Reason.DECLINED):
        return Visit.End.LEFT
    if reason == rules.Reason.CAP_REACHED:
        return Visit.End.LIMIT
    if reason and reason not in STEPS:
        return Visit.End.STOPPED
    if now >= session.expires_at:
        return Visit.End.TIME
    return Visit.End.LEFT if may_go_on(person, session, now=now) else Visit.End.NO_STORY


def outcome_of(visit: Visit) -> VisitOutcome | None:
    """Return the visit's outcome, or None while it is open. It must carry its session and submission."""
    assert visit.session is not None
    work: Submission | None = getattr(visit, "submission", None)
    return visit_outcome(session=visit.session.state, status=work.status if work else None)


def _passed(person: Enrollment) -> bool | None:
    """Return whether the person passed the test; None while it is not over, or without one."""
    if person.state in (State.QUALIFIED, State.FAILED):
        return person.state == State.QUALIFIED
    if person.state not in (State.SUSPENDED, State.WITHDRAWN):
        return None
    return annotation_queries.test_outcome(person)


def may_go_on(person: Enrollment, session: WorkSession | None = None, *, now: datetime | None = None) -> bool:
    """Tell whether the person can be given something to do now, in this session if any. Take nothing."""
    if session and session.state == WorkSession.State.DOUBTED:
        return False
    reason = rules.may_be_served(annotation_actions.serving_facts(person))
    if session and session.story_limit == 0:
        may_begin = reason in STEPS and annotation_queries.kept_out(person) is None
        return may_begin or annotation_queries.is_in_test(person)
    if session and now:
        reason = reason or rules.may_go_on(
            state=session.state,
            story_limit=session.story_limit,
            stories_submitted=session.stories_submitted,
            expires_at=session.expires_at,
            now=now,
        )
    if reason in STEPS:
        return annotation_queries.kept_out(person) is None
    return reason is None and annotation_queries.stories_left(person, at_most=1) > 0
