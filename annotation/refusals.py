"""Texts of refusal pages: a heading, what it means, and what to do."""

from datetime import datetime
from typing import NamedTuple

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from annotation.rules import NoChange, Reason, Refusal

Text = str | Promise


class RefusalPage(NamedTuple):
    """A reason with its texts; ``next`` says what to do now, ``sign`` what kind of end it is."""

    code: str
    title: Text
    text: Text
    next: Text
    sign: str
    """``wait`` (there may be stories later), ``done`` (nothing more to answer) or ``end``."""
    retry_at: datetime | None


_WAITS = (Reason.NOTHING_FREE, Reason.STUDY_PAUSED, Reason.STUDY_NOT_OPEN, Reason.PROTOCOL_CHANGED)
_DONE = (Reason.CAP_REACHED, Reason.ALL_DONE, Reason.STUDY_CLOSED)
_SIGNS = dict.fromkeys(_WAITS, "wait") | dict.fromkeys(_DONE, "done")
_LOOK_BACK = _("“Your account” lists your answers. You can change them for a while.")
_TEXTS: dict[Reason, tuple[Text, Text, Text]] = {
    Reason.WRONG_ENVIRONMENT: (
        _("This link belongs to a test run"),
        _("It was made for trying out the study and opens no real stories."),
        _("Ask the people who invited you for a new link."),
    ),
    Reason.SUSPENDED: (
        _("You can’t continue right now"),
        _("The researchers have paused your participation. What you saved is kept and credited."),
        _("If they let you continue, come back as described below."),
    ),
    Reason.WITHDRAWN: (
        _("You have left this study"),
        _("You won’t get any more stories. Thank you for your time."),
        _("“Your account” lists your answers. You can also delete your personal data there."),
    ),
    Reason.STUDY_NOT_OPEN: (
        _("The study has not started yet"),
        _("You are early. Your link will work as soon as the study opens."),
        _("Come back later as described below. You lose nothing by being early."),
    ),
    Reason.STUDY_PAUSED: (
        _("The study is paused"),
        _("Nobody gets stories right now. What you saved is kept."),
        _("Come back later as described below: you continue where you stopped."),
    ),
    Reason.STUDY_CLOSED: (
        _("The study is finished"),
        _("There are no more stories to answer. Everything you saved is kept and credited. Thank you."),
        _LOOK_BACK,
    ),
    Reason.PROTOCOL_CHANGED: (
        _("The study is being fixed"),
        _(
            "Its questions changed while it was running, so nobody gets stories right now. What you "
            "saved is kept."
        ),
        _("You did nothing wrong. Come back later as described below."),
    ),
    Reason.CAP_REACHED: (
        _("You’ve answered your share"),
        _(
            "Each person answers a limited number of stories, so that many people have a say. Thank "
            "you for your care."
        ),
        _LOOK_BACK,
    ),
    Reason.NOTHING_FREE: (
        _("No story is free right now"),
        _(
            "Other people are working on the stories that are left. If one of them stops, a story "
            "becomes free for you."
        ),
        _("Look again in a while, or come back later as described below."),
    ),
    Reason.NOT_QUALIFIED_THERE: (
        _("This study is for people from an earlier one"),
        _("Only people who qualified in an earlier study can take part, and we can’t find you there."),
        _(
            "If you did qualify, write to the people who invited you. Otherwise you don’t need to do "
            "anything else here."
        ),
    ),
    Reason.EXCLUDED: (
        _("You know these stories already"),
        _(
            "You took part in a study with the same stories. This study needs people who haven’t "
            "read them. Thank you for coming."
        ),
        _("You don’t need to do anything else here."),
    ),
    Reason.SESSION_OVER: (
        _("Your time for this assignment is over"),
        _("The site that sent you sets a time limit, and it has passed. What you saved is kept."),
        _("If you can still hand it in on that site, do so. Otherwise you don’t need to do anything else."),
    ),
    Reason.ALL_DONE: (
        _("There are no stories left for you"),
        _("No other story needs an answer from you. Thank you for coming."),
        _LOOK_BACK,
    ),
}


def refusal_page(refusal: Refusal) -> RefusalPage:
    """Return a refusal's page. Raise ``KeyError`` for reasons that redirect to a page of their own."""
    reason = refusal.reason
    return RefusalPage(reason.value, *_TEXTS[reason], _SIGNS.get(reason, "end"), refusal.retry_at)


_NO_CHANGE: dict[NoChange, Text] = {
    NoChange.PUBLISHED: _("It is set for publication, so you can no longer change it."),
    NoChange.TOO_LATE: _("The time for changing it is over."),
    NoChange.NOT_QUALIFIED: _("Your participation is paused or has ended, so you can’t change it."),
    NoChange.CHANGED_MEANWHILE: _(
        "You changed it in another window or on another device meanwhile. That answer is kept: open it "
        "again to change it."
    ),
}


def no_change_text(reason: NoChange | None) -> Text:
    """Say why an answer cannot be changed; empty if it can."""
    return _NO_CHANGE[reason] if reason else ""
