"""What can go wrong in this room, by name. Messages are for the people who meet them."""

from __future__ import annotations


class RecruitmentError(Exception):
    """Base of every refusal by ``recruitment.actions``."""


class NoMail(RecruitmentError):
    """This site sends no mail."""


class NoAddress(RecruitmentError):
    """There is no confirmed address to which a person's link could be sent."""


class InvalidAddress(RecruitmentError):
    """Something is not an e-mail address; the message names it."""


class CannotInvite(RecruitmentError):
    """Somebody among those to be invited must not be; the message names them."""


class CannotJoin(RecruitmentError):
    """Nobody new is let in by this join link now; the study's state says why."""


class CannotRecruit(RecruitmentError):
    """A campaign that cannot be made, changed or started like this; a line of the message per problem."""


class CannotPay(RecruitmentError):
    """A decision or payment that is not open to this piece of work; the message says why."""


class CannotSettle(RecruitmentError):
    """A difference with a platform that cannot be settled like this; the message says why."""


class CannotGrant(RecruitmentError):
    """Somebody cannot be put into a group on a platform, or taken out of it; the message says why."""


class NotQueued(RecruitmentError):
    """A mail could not be handed to the workers. What was stored before stays stored."""


class MailFailed(RecruitmentError):
    """The mail server could not be reached or did not take a mail for now. It names no address."""


class MailRefused(RecruitmentError):
    """The mail server refused the mail for good. It names no address."""
