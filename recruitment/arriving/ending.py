"""What a visit has come to: whether it can be handed in, and as what."""

from __future__ import annotations

import enum


class Ending(enum.StrEnum):
    """How a visit ends, as far as its platform is told."""

    GO_ON = "go_on"
    """There is something left to do first."""
    COMPLETED = "completed"
    """Done, or stopped by us before it was: that is no fault of theirs, and is paid in full."""
    PARTIAL = "partial"
    """Fewer stories than asked for, and they have left or were suspended: a researcher decides."""
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


def ending(
    *,
    story_limit: int,
    stories_submitted: int,
    passed: bool | None,
    left: bool,
    suspended: bool = False,
    may_go_on: bool,
    handed_in: bool,
    was_partial: bool = False,
) -> Ending:
    """How a visit that asks for ``story_limit`` stories (0: for the test alone) ends if it ends now.

    ``passed`` is what the test came to, None while it is not over. ``left``: they declined or left the study.
    ``may_go_on``: the person can be given more to do now. ``handed_in``: they were sent to hand it in before,
    and ``was_partial`` says as what. Somebody who has answered some of the stories hands in those; it makes
    a difference whether we had no more for them, or they left or were suspended.
    """
    if story_limit == 0 and passed is not None:
        return Ending.COMPLETED if passed else Ending.SCREENED_OUT
    if story_limit and stories_submitted >= story_limit:
        return Ending.COMPLETED
    if handed_in:
        return Ending.PARTIAL if was_partial else Ending.COMPLETED
    if left and not stories_submitted:
        return Ending.DECLINED
    if may_go_on:
        return Ending.GO_ON
    if not stories_submitted:
        return Ending.NOTHING_DONE
    return Ending.PARTIAL if left or suspended else Ending.COMPLETED
