"""Ends of visits: whether they can be handed in, and as what."""

import enum


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
    """They had agreed to take part and found nothing to do: a researcher decides what is paid."""
    NOTHING_DONE = "nothing_done"
    """They did nothing of what there was to do."""
    DECLINED = "declined"
    """They did not want to take part, or have left without having answered a story."""

    @property
    def is_work(self) -> bool:
        """Tell whether there is something to hand in and be paid for."""
        return self not in (Ending.GO_ON, Ending.NOTHING_DONE, Ending.DECLINED)


class VisitOutcome(enum.StrEnum):
    """The result of a settled visit, for its person to read."""

    APPROVED = "approved"
    REJECTED = "rejected"
    GIVEN_BACK = "given_back"
    """Returned, or its time ran out there."""
    WAITS = "waits"
    """It has arrived, and is looked at before it is paid."""
    UNPROVEN = "unproven"
    """It was handed in by another way than our page, and its answers do not count."""
    COUNTS_UNPAID = "counts_unpaid"
    """Its answers count on a researcher's word, but the platform does not list it."""


_OUTCOMES = {
    "approved": VisitOutcome.APPROVED,
    "rejected": VisitOutcome.REJECTED,
    "returned": VisitOutcome.GIVEN_BACK,
    "timed_out": VisitOutcome.GIVEN_BACK,
    "screened_out": VisitOutcome.GIVEN_BACK,
}


def visit_outcome(*, session: str, status: str | None) -> VisitOutcome | None:
    """Return a visit's outcome; None while it is open, or may still be handed in.

    ``session``: open, confirmed or doubted. ``status``: what the platform says of the work; None if nothing.
    """
    if session == "open":
        return None
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
    Only whole work is paid by itself, whoever stopped it: who answers one story can wait until the time is
    over, nothing is left or their limit is reached elsewhere, and must not earn the reward for twenty by it.
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
