"""Who may begin a new piece of work. Whoever has begun one may always open it again."""

from __future__ import annotations

from recruitment.arriving.arrival import Problem

TAKES_PEOPLE = frozenset({"creating", "live", "pausing", "ending"})
"""States of a campaign in which somebody new may come: HITs can be taken as soon as they are made."""
TESTED = frozenset({"qualified", "failed", "suspended", "withdrawn"})
OUT = frozenset({"failed", "suspended", "withdrawn"})


def lets_in(*, study_state: str, campaign_state: str) -> bool:
    """Whether somebody new who accepts the work finds something to do."""
    return study_state == "open" and campaign_state in TAKES_PEOPLE


def may_begin(
    *,
    is_test: bool,
    needs_test: bool,
    study_state: str,
    campaign_state: str,
    enrollment_state: str | None,
    left_unfinished: bool,
) -> Problem | None:
    """None when the person may begin, else the one reason why not.

    ``enrollment_state`` is None for somebody new. ``needs_test``: the study asks for a qualification of its
    own. ``left_unfinished``: they have begun an earlier piece of work of this campaign that was never
    handed in, so that somebody who took the test and lost their HIT over it can hand it in with another.
    """
    if campaign_state == "draft":
        return Problem.NOT_OPEN
    is_open = lets_in(study_state=study_state, campaign_state=campaign_state)
    if enrollment_state is None and not is_open:
        return Problem.NOT_OPEN
    if is_test:
        return Problem.TEST_TAKEN if enrollment_state in TESTED and not left_unfinished else None
    if enrollment_state in OUT or (needs_test and enrollment_state != "qualified"):
        return Problem.NOT_QUALIFIED
    return None
