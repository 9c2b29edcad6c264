"""Texts for refused arrivals from a platform."""

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from recruitment.arrivals import Problem

_WRONG = _("This address is not complete")
REFUSALS: dict[Problem, tuple[int, Promise, Promise]] = {
    Problem.NO_IDS: (
        400,
        _("We cannot see who you are"),
        _(
            "Open this page from the site that offers the work: that site adds your id and your "
            "assignment to the address. Go back to the site that offers the work and open it there "
            "again."
        ),
    ),
    Problem.WRONG_IDS: (
        400,
        _WRONG,
        _(
            "Part of it was cut off or changed on the way. Go back to the site that offers the work "
            "and open it there again."
        ),
    ),
    Problem.FOREIGN_SITE: (
        400,
        _("This work would be handed in on the wrong site"),
        _(
            "The address names a site on which this study hands nothing in, so you wouldn’t be paid. "
            "Go back to the site that offers the work and open it there again."
        ),
    ),
    Problem.NOT_PROVEN: (
        403,
        _("This address is not yours"),
        _(
            "The site that offers the work doesn’t know you by this address. Go back there and open "
            "the work again, signed in as yourself."
        ),
    ),
    Problem.OUT_OF_DATE: (
        410,
        _("This address has expired"),
        _(
            "It works for two minutes after you open the study. Go back to the site that offers the "
            "work and open it there again. Everything you saved is still there."
        ),
    ),
    Problem.UNKNOWN_POSTING: (
        404,
        _("This work is not known here"),
        _(
            "If it was posted just now, it may take a minute to appear here: reload this page. If "
            "that doesn’t help, it belongs to something else, and you should return it."
        ),
    ),
    Problem.OTHER_WORK: (
        409,
        _("This address belongs to other work"),
        _(
            "You opened this assignment before, at another address. Go back to the site that offers "
            "the work and open it there again."
        ),
    ),
    Problem.NOT_OPEN: (
        403,
        _("Nobody new can join right now"),
        _("The study is paused or has ended, so there is nothing for you to do. You did nothing wrong."),
    ),
    Problem.NOT_QUALIFIED: (
        403,
        _("This work is for people who have passed the test"),
        _(
            "As far as we know, you haven’t passed this study’s test, or your participation has "
            "ended, so we can’t give you these stories. The test is offered as a separate assignment."
        ),
    ),
    Problem.TEST_TAKEN: (
        403,
        _("You have taken this test already"),
        _(
            "Everybody takes it once, so there is nothing more for you to do in this assignment. If you "
            "still have the assignment in which you took it, hand that one in."
        ),
    ),
    Problem.FORGOTTEN: (
        410,
        _("Your personal data has been deleted"),
        _(
            "You left, and we deleted everything that said who you are, as you asked. To prevent "
            "double answers, your account can’t be opened again."
        ),
    ),
}
"""HTTP status, heading and text of the page that refuses an arrival."""
