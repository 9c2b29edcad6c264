"""Admission to a new submission. People may always reopen one that they have begun."""

from datetime import datetime

from recruitment.arrivals.arrival import Problem

TAKES_PEOPLE = frozenset({"creating", "live", "pausing", "ending"})
"""States of a campaign in which somebody new may come: HITs can be taken as soon as they are made."""
TESTED = frozenset({"qualified", "failed", "suspended", "withdrawn"})
OUT = frozenset({"failed", "suspended", "withdrawn"})


def is_retaken(
    *,
    session: str,
    is_whole: bool,
    has_answers: bool,
    return_reported: bool,
    is_listed: bool,
    handed_in: bool,
    decided_manually: bool,
    expires_at: datetime,
    now: datetime,
) -> bool:
    """Tell whether a person who comes with the same submission must have taken it once more.

    Theirs is over, since it was given up here, the platform reported its return (which may come late), or its
    time and ours are over, and nothing of it was handed in or can be: ``is_listed`` by the platform,
    ``is_whole``, or with answers that wait to be handed in. ``decided_manually``: a researcher's word stands.
    """
    if is_whole or is_listed or handed_in or decided_manually or session == "confirmed":
        return False
    return session == "doubted" or ((return_reported or now >= expires_at) and not has_answers)


def lets_in(*, study_state: str, campaign_state: str) -> bool:
    """Tell whether a new person who accepts the work finds something to do."""
    return study_state == "open" and campaign_state in TAKES_PEOPLE


def may_begin(
    *,
    is_test: bool,
    needs_test: bool,
    study_state: str,
    campaign_state: str,
    enrollment_state: str | None,
    has_lost_test: bool,
) -> Problem | None:
    """Return None if the person may begin, else the one reason why not.

    ``enrollment_state`` is None for somebody new. ``needs_test``: the study asks for a qualification of its
    own. ``has_lost_test``: they took it in a visit that is over and was never handed in, so they can hand it
    in with this one.
    """
    if campaign_state == "draft":
        return Problem.NOT_OPEN
    is_open = lets_in(study_state=study_state, campaign_state=campaign_state)
    if enrollment_state is None and not is_open:
        return Problem.NOT_OPEN
    if is_test:
        return Problem.TEST_TAKEN if enrollment_state in TESTED and not has_lost_test else None
    if enrollment_state in OUT or (needs_test and enrollment_state != "qualified"):
        return Problem.NOT_QUALIFIED
    return None
