"""Rules of arrivals from a platform: reasons to refuse one, who may begin, and how a visit ends.

People may always reopen a submission that they have begun.
"""

import enum
from dataclasses import dataclass
from datetime import datetime

from annotation.models import Enrollment, Study, WorkSession
from recruitment.models import Campaign, Visit


@dataclass(frozen=True, slots=True)
class Arrival:
    """The ids in an arrival's address; all of them could have been typed.

    ``remote_id`` is the platform's id of the piece of work, ``posting`` that of the HIT or study,
    ``person`` that of the person. ``submit_to`` is the platform's site to which the work is handed in, where
    the address says so.
    """

    remote_id: str
    posting: str
    person: str
    submit_to: str = ""


class ArrivalProblem(enum.StrEnum):
    """Reasons for refusing an arrival, as they stand in the log."""

    NO_IDS = "no_ids"
    WRONG_IDS = "wrong_ids"
    FOREIGN_SITE = "foreign_site"
    NOT_PROVEN = "not_proven"
    OUT_OF_DATE = "out_of_date"
    UNKNOWN_POSTING = "unknown_posting"
    OTHER_WORK = "other_work"
    NOT_OPEN = "not_open"
    NOT_QUALIFIED = "not_qualified"
    TEST_TAKEN = "test_taken"
    FORGOTTEN = "forgotten"


class CannotArrive(Exception):
    """A refused arrival; nothing has been changed."""

    def __init__(self, problem: ArrivalProblem) -> None:
        super().__init__(problem.value)
        self.problem = problem


TAKES_PEOPLE = (Campaign.State.CREATING, Campaign.State.LIVE, Campaign.State.PAUSING, Campaign.State.ENDING)
"""States of a campaign in which somebody new may come: HITs can be taken as soon as they are made."""
OUT = (Enrollment.State.FAILED, Enrollment.State.SUSPENDED, Enrollment.State.WITHDRAWN)
TESTED = (Enrollment.State.QUALIFIED, *OUT)


def is_retaken(visit: Visit, *, is_listed: bool, now: datetime) -> bool:
    """Return True if a person who comes with the same submission must have taken it once more.

    Their visit is over (given up here, reported as returned, or out of time), and nothing of it was handed in
    or can be: it is not whole, not listed by the platform, and has no answers that wait to be handed in. A
    visit that a researcher decided stays as it is.
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
    """Return True if a new person who accepts the work finds something to do."""
    return campaign.study.state == Study.State.OPEN and campaign.state in TAKES_PEOPLE


def may_begin(
    campaign: Campaign, person: Enrollment | None, *, has_lost_test: bool = False
) -> ArrivalProblem | None:
    """Return None if the person may begin, else the one reason why not.

    ``person`` is None for somebody new. ``has_lost_test``: they took the test in a visit that is over and was
    never handed in, so they can hand it in with this one.
    """
    if campaign.state == Campaign.State.DRAFT or (person is None and not lets_in(campaign)):
        return ArrivalProblem.NOT_OPEN
    state = person.state if person else None
    if campaign.is_test:
        return ArrivalProblem.TEST_TAKEN if state in TESTED and not has_lost_test else None
    needs_test = campaign.study.gate != Study.Gate.NOT_REQUIRED
    if state in OUT or (needs_test and state != Enrollment.State.QUALIFIED):
        return ArrivalProblem.NOT_QUALIFIED
    return None


class Ending(enum.StrEnum):
    """The end of a visit, as far as its platform is told."""

    GO_ON = "go_on"
    """There is something left to do first."""
    COMPLETED = "completed"
    """All of it is done, and it is paid."""
    PARTIAL = "partial"
    """Fewer stories than asked for, or a test begun and not finished, whatever stopped them: a researcher
    decides what is paid."""
    SCREENED_OUT = "screened_out"
    """The test was handed in and not passed."""
    NO_WORK = "no_work"
    """The participant agreed to take part and found nothing to do: a researcher decides what is paid."""
    NOTHING_DONE = "nothing_done"
    """The participant did nothing, although there was work to do."""
    DECLINED = "declined"
    """The participant did not want to take part, or left without having answered a story."""

    @property
    def is_work(self) -> bool:
        """Return True if there is something to hand in and be paid for."""
        return self not in (Ending.GO_ON, Ending.NOTHING_DONE, Ending.DECLINED)


class VisitOutcome(enum.StrEnum):
    """The result of a settled visit, for its person to read."""

    APPROVED = "approved"
    REJECTED = "rejected"
    GIVEN_BACK = "given_back"
    """Returned, or its time ran out there."""
    WAITS = "waits"
    """The work has arrived and is reviewed before it is paid."""
    UNPROVEN = "unproven"
    """The work was not handed in on our page, and its answers do not count."""
    COUNTS_UNPAID = "counts_unpaid"
    """The answers count because a researcher said so, but the platform does not list the work."""


_OUTCOMES = {
    "approved": VisitOutcome.APPROVED,
    "rejected": VisitOutcome.REJECTED,
    "returned": VisitOutcome.GIVEN_BACK,
    "timed_out": VisitOutcome.GIVEN_BACK,
}


def visit_outcome(*, session: str, status: str | None) -> VisitOutcome | None:
    """Return a visit's outcome; None while it is open, or may still be handed in.

    ``session``: open, confirmed or doubted. ``status``: what the platform says of the work; None if nothing.
    """
    if session == "open":
        return None
    if status == "screened_out":  # a test that was not passed is paid so
        return VisitOutcome.APPROVED if session == "confirmed" else VisitOutcome.GIVEN_BACK
    if status in _OUTCOMES:
        return _OUTCOMES[status]
    if status == "submitted":
        return VisitOutcome.WAITS if session == "confirmed" else VisitOutcome.UNPROVEN
    return VisitOutcome.COUNTS_UNPAID if session == "confirmed" else None


def ending(
    *,
    story_limit: int,
    stories_submitted: int,
    passed: bool | None,
    left: bool,
    may_go_on: bool,
    handed_in: bool,
    began_test: bool = False,
    found_nothing: bool = False,
) -> Ending:
    """Return how a visit that asks for ``story_limit`` stories (0: for the test alone) would end now.

    ``passed`` is what the test came to, None while it is not over. ``left``: they declined or left the study.
    ``may_go_on``: the person can be given more to do now. ``handed_in``: they were sent to hand it in before.
    ``began_test``: they were in the test, whose answers are saved story by story.
    ``found_nothing``: they agreed to take part, came in time, and were given nothing to do.
    Only complete work is paid automatically: otherwise someone could answer one story, wait, and get the
    reward for twenty.
    """
    if story_limit == 0 and passed is not None:
        return Ending.COMPLETED if passed else Ending.SCREENED_OUT
    if story_limit and stories_submitted >= story_limit:
        return Ending.COMPLETED
    if handed_in and stories_submitted:
        return Ending.PARTIAL
    if left and not stories_submitted:
        return Ending.DECLINED
    if may_go_on:
        return Ending.GO_ON
    if stories_submitted or began_test:
        return Ending.PARTIAL
    return Ending.NO_WORK if found_nothing else Ending.NOTHING_DONE
