"""What each refusal says on its page: a heading, what it means, and what to do."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from annotation.rules import NoChange, Reason, Refusal

Text = str | Promise


@dataclass(frozen=True, slots=True)
class RefusalPage:
    code: str
    title: Text
    text: Text
    next: Text
    """What the person can do now."""
    retry_at: datetime | None


_TEXTS: dict[Reason, tuple[Text, Text, Text]] = {
    Reason.WRONG_ENVIRONMENT: (
        _("This link belongs to a test run"),
        _("It was made for a rehearsal of the study and opens no real stories."),
        _("Please ask the people who invited you for a new link."),
    ),
    Reason.SUSPENDED: (
        _("You cannot go on at the moment"),
        _("The people who run this study have paused your part in it. What you saved is kept and credited."),
        _("You need not do anything. If they let you go on, the link below brings you to the stories."),
    ),
    Reason.WITHDRAWN: (
        _("You have left this study"),
        _("You withdrew, so there is nothing more for you to do. Thank you for the time you gave."),
        _("You can close this page. “Your place” lists your answers, and there you can also be forgotten."),
    ),
    Reason.STUDY_NOT_OPEN: (
        _("The study has not begun yet"),
        _("You are early. Your link will work as soon as the study opens."),
        _("Keep the link below and open it again later; nothing is lost by having come early."),
    ),
    Reason.STUDY_PAUSED: (
        _("The study is paused"),
        _("Nobody is given stories just now. What you saved is kept."),
        _("You can close this page, and open the link below again later: you go on where you were."),
    ),
    Reason.STUDY_CLOSED: (
        _("The study is finished"),
        _("No more stories are given out. Everything you saved is kept and credited. Thank you."),
        _("Nothing more is needed from you; you can close this page."),
    ),
    Reason.PROTOCOL_CHANGED: (
        _("The study has to be looked after"),
        _("Its questions changed while it was running, so nobody is given stories. What you saved is kept."),
        _("You did nothing wrong. You can close this page, and open the link below again later."),
    ),
    Reason.CAP_REACHED: (
        _("You have answered as many stories as one person may"),
        _("Everybody answers a limited number, so that many people have a say. Thank you for your care."),
        _("Nothing more is needed from you. You can look at your answers, and change them for a while."),
    ),
    Reason.NOTHING_FREE: (
        _("Every story is with somebody just now"),
        _("Other people hold the stories that are left. If one of them stops, a story becomes free for you."),
        _("Look again in a while, or close this page: the link below brings you back here."),
    ),
    Reason.NOT_QUALIFIED_THERE: (
        _("This study is for people from another one"),
        _("Only people who qualified in an earlier study can take part, and this link is not known from it."),
        _("If you did, please write to the people who invited you. Otherwise you can close this page."),
    ),
    Reason.EXCLUDED: (
        _("You know these stories already"),
        _(
            "You took part in a study with the same stories. Here they are for people who have not read "
            "them before. Thank you for coming."
        ),
        _("Nothing is needed from you; you can close this page."),
    ),
    Reason.SESSION_OVER: (
        _("The time for this piece of work is over"),
        _("The place that sent you gives only so much time, and it has passed. What you saved is kept."),
        _("If that place still lets you hand it in, do so. Otherwise you can close this page."),
    ),
    Reason.ALL_DONE: (
        _("There are no stories left for you"),
        _("You have seen every story that still needed an answer. Thank you for your care."),
        _("Nothing more is needed from you. You can look at your answers, and change them for a while."),
    ),
}


def refusal_page(refusal: Refusal) -> RefusalPage:
    """The words for a refusal. Raises ``KeyError`` for the reasons that lead to a page of their own."""
    title, text, next = _TEXTS[refusal.reason]
    return RefusalPage(refusal.reason.value, title, text, next, refusal.retry_at)


_NO_CHANGE: dict[NoChange, Text] = {
    NoChange.PUBLISHED: _("It has been fixed for publication, so it cannot change any more."),
    NoChange.TOO_LATE: _("The time in which it could be changed is over."),
    NoChange.NOT_QUALIFIED: _("Your part in the study is paused or has ended, so it stays as it is."),
}


def no_change_text(reason: NoChange | None) -> Text:
    """Why an answer cannot be changed, in words; nothing when it can."""
    return _NO_CHANGE[reason] if reason else ""
