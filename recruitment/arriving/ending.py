"""What a visit has come to: whether it can be handed in, and as what."""

from __future__ import annotations

import enum


class Ending(enum.StrEnum):
    """How a visit ends, as far as its platform is told."""

    GO_ON = "go_on"
    """There is something left to do first."""
    COMPLETED = "completed"
    """All of it is done, and it is paid."""
    PARTIAL = "partial"
    """Fewer stories than asked for, or a test begun and not finished, whatever stopped them: a researcher
    decides what is paid."""
    SCREENED_OUT = "screened_out"
    """The test was handed in and not passed."""
    NOTHING_DONE = "nothing_done"
    """There was nothing to do for the person."""
    DECLINED = "declined"
    """They did not want to take part, or have left without having answered a story."""

    @property
    def is_work(self) -> bool:
        """Whether there is something to hand in and be paid for."""
        return self in (Ending.COMPLETED, Ending.PARTIAL, Ending.SCREENED_OUT)


class Outcome(enum.StrEnum):
    """What became of a visit that is settled, for its person to read."""

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
    "approved": Outcome.APPROVED,
    "rejected": Outcome.REJECTED,
    "returned": Outcome.GIVEN_BACK,
    "timed_out": Outcome.GIVEN_BACK,
    "screened_out": Outcome.GIVEN_BACK,
}


def outcome(*, session: str, status: str | None) -> Outcome | None:
    """What became of a visit; None as long as it is open, or may still be handed in after all.

    ``session``: open, confirmed or doubted. ``status``: what the platform says of the work; None if nothing.
    """
    if session == "open":
        return None
    if status in _OUTCOMES:
        return _OUTCOMES[status]
    if status == "submitted":
        return Outcome.WAITS if session == "confirmed" else Outcome.UNPROVEN
    return Outcome.COUNTS_UNPAID if session == "confirmed" else None


def ending(
    *,
    story_limit: int,
    stories_submitted: int,
    passed: bool | None,
    left: bool,
    may_go_on: bool,
    handed_in: bool,
    began_test: bool = False,
) -> Ending:
    """How a visit that asks for ``story_limit`` stories (0: for the test alone) ends if it ends now.

    ``passed`` is what the test came to, None while it is not over. ``left``: they declined or left the study.
    ``may_go_on``: the person can be given more to do now. ``handed_in``: they were sent to hand it in before.
    ``began_test``: they were in the test, whose answers are saved story by story.
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
    return Ending.PARTIAL if stories_submitted or began_test else Ending.NOTHING_DONE
