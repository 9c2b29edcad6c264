"""What a visit has come to: whether it can be handed in, and as what."""

from __future__ import annotations

import enum


class Ending(enum.StrEnum):
    """How a visit ends, as far as its platform is told."""

    GO_ON = "go_on"
    """There is something left to do first."""
    COMPLETED = "completed"
    SCREENED_OUT = "screened_out"
    """The test was handed in and not passed."""
    NOTHING_DONE = "nothing_done"
    """There was nothing to do for the person."""
    DECLINED = "declined"
    """They did not want to take part, or have left."""

    @property
    def is_work(self) -> bool:
        """Whether there is something to hand in and be paid for."""
        return self in (Ending.COMPLETED, Ending.SCREENED_OUT)


def ending(
    *,
    story_limit: int,
    stories_submitted: int,
    passed: bool | None,
    declined: bool,
    may_go_on: bool,
    handed_in: bool,
) -> Ending:
    """How a visit that asks for ``story_limit`` stories (0: for the test alone) ends if it ends now.

    ``passed`` is what the test came to, None while it is not over. ``may_go_on``: the person can be given
    more to do now. Somebody who cannot be, and has answered some of the stories, hands in those: it is no
    fault of theirs that no more are left.
    """
    if story_limit == 0 and passed is not None:
        return Ending.COMPLETED if passed else Ending.SCREENED_OUT
    if handed_in or (story_limit and stories_submitted >= story_limit):
        return Ending.COMPLETED
    if declined and not stories_submitted:
        return Ending.DECLINED
    if may_go_on:
        return Ending.GO_ON
    return Ending.COMPLETED if stories_submitted else Ending.NOTHING_DONE
