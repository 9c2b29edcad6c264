"""What people read who come from a platform and are not let in."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from recruitment.arriving.arrival import Problem


@dataclass(frozen=True, slots=True)
class VisitRefusal:
    """The page for one problem. ``status`` is the HTTP status."""

    status: int
    heading: Promise
    text: Promise


_WRONG = _("This address is not complete")
_REFUSALS = {
    Problem.NO_IDS: VisitRefusal(
        400,
        _("We cannot see who you are"),
        _(
            "This page has to be opened from the place that offers the work, which adds to its address who "
            "you are and which work you have taken. Go back there and open the work again."
        ),
    ),
    Problem.WRONG_IDS: VisitRefusal(
        400,
        _WRONG,
        _(
            "What it says about you or the work was cut off or changed on the way. Go back to the place that "
            "offers the work and open it there again."
        ),
    ),
    Problem.FOREIGN_SITE: VisitRefusal(
        400,
        _("This work would be handed in at the wrong place"),
        _(
            "The address names a site to which this study hands in nothing, so it does not open. Your work "
            "would not be paid there. Go back to the place that offers the work and open it there again."
        ),
    ),
    Problem.NOT_PROVEN: VisitRefusal(
        403,
        _("This address is not yours"),
        _(
            "The place that offers the work does not know you by this address. Go back there and open the "
            "work again, in your own account."
        ),
    ),
    Problem.OUT_OF_DATE: VisitRefusal(
        410,
        _("This address is too old"),
        _(
            "It works for two minutes after you have opened the study. Go back to the place that offers the "
            "work and open it there again; everything you have saved is still there."
        ),
    ),
    Problem.UNKNOWN_POSTING: VisitRefusal(
        404,
        _("This work is not known here"),
        _(
            "If it was offered just now, it may become known within a minute: load this page again. If that "
            "does not help, it belongs to something else, and you should give it back."
        ),
    ),
    Problem.OTHER_WORK: VisitRefusal(
        409,
        _("This address belongs to other work"),
        _(
            "You have opened this piece of work before, at another address. Go back to the place that offers "
            "the work and open it there again."
        ),
    ),
    Problem.NOT_OPEN: VisitRefusal(
        403,
        _("Nobody new is let in just now"),
        _("The study is paused or has ended, so there is nothing for you to do. You did nothing wrong."),
    ),
    Problem.NOT_QUALIFIED: VisitRefusal(
        403,
        _("This work is for people who have passed the test"),
        _(
            "As far as is known here you have not passed this study’s test, or your part in it has ended, so "
            "these stories cannot be given to you. The test is offered as work of its own."
        ),
    ),
    Problem.TEST_TAKEN: VisitRefusal(
        403,
        _("You have taken this test already"),
        _("Everybody takes it once, so there is nothing more to do for you in this piece of work."),
    ),
    Problem.TAKEN_BY_ANOTHER: VisitRefusal(
        403,
        _("This test has been taken with your id"),
        _(
            "It was taken in another visit with your id, and everybody takes it once. If that was you, hand "
            "in or give back that piece of work, and give this one back."
        ),
    ),
    Problem.FORGOTTEN: VisitRefusal(
        410,
        _("You have been forgotten"),
        _(
            "You have left, and everything that said who you are has been erased, as you asked. So that "
            "nobody answers a story twice, your place cannot be opened again."
        ),
    ),
}


def refusal_of(problem: Problem) -> VisitRefusal:
    """The page's words."""
    return _REFUSALS[problem]
