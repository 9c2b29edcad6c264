"""Admission to a new submission. People may always reopen one that they have begun."""

from datetime import datetime

from annotation.models import Enrollment, Study, WorkSession
from recruitment.arrivals.arrival import Problem
from recruitment.models import Campaign, Visit

TAKES_PEOPLE = (Campaign.State.CREATING, Campaign.State.LIVE, Campaign.State.PAUSING, Campaign.State.ENDING)
"""States of a campaign in which somebody new may come: HITs can be taken as soon as they are made."""
OUT = (Enrollment.State.FAILED, Enrollment.State.SUSPENDED, Enrollment.State.WITHDRAWN)
TESTED = (Enrollment.State.QUALIFIED, *OUT)


def is_retaken(visit: Visit, *, is_listed: bool, now: datetime) -> bool:
    """Tell whether a person who comes with the same submission must have taken it once more.

    Theirs is over, since it was given up here, the platform reported its return (which may come late), or its
    time and ours are over, and nothing of it was handed in or can be: it is not whole, not listed by the
    platform, and has no answers that wait to be handed in. A researcher's word about it stands.
    """
    session = visit.session
    assert session is not None
    is_whole = session.is_whole if session.story_limit else session.test_finished_at is not None
    if is_whole or is_listed or visit.handed_in_at or visit.decided_manually:
        return False
    is_over = visit.return_reported_at is not None or now >= session.expires_at
    is_open = session.state == WorkSession.State.OPEN
    return session.state == WorkSession.State.DOUBTED or (
        is_open and is_over and not session.stories_submitted
    )


def lets_in(campaign: Campaign) -> bool:
    """Tell whether a new person who accepts the work finds something to do."""
    return campaign.study.state == Study.State.OPEN and campaign.state in TAKES_PEOPLE


def may_begin(
    campaign: Campaign, person: Enrollment | None, *, has_lost_test: bool = False
) -> Problem | None:
    """Return None if the person may begin, else the one reason why not.

    ``person`` is None for somebody new. ``has_lost_test``: they took the test in a visit that is over and was
    never handed in, so they can hand it in with this one.
    """
    if campaign.state == Campaign.State.DRAFT or (person is None and not lets_in(campaign)):
        return Problem.NOT_OPEN
    state = person.state if person else None
    if campaign.purpose == Campaign.Purpose.TEST:
        return Problem.TEST_TAKEN if state in TESTED and not has_lost_test else None
    needs_test = campaign.study.gate != Study.Gate.NOT_REQUIRED
    if state in OUT or (needs_test and state != Enrollment.State.QUALIFIED):
        return Problem.NOT_QUALIFIED
    return None
