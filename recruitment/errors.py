"""Errors of this room. Messages are for the people who meet them."""

from accounts.errors import DomainError


class InvalidAddress(DomainError):
    """A text is not an e-mail address; the message names it."""


class CannotJoin(DomainError):
    """The join link lets nobody new in now; the study's state says why."""


class CannotRecruit(DomainError):
    """A campaign or its groups cannot be changed like this; the message has a line per problem."""


class CannotPay(DomainError):
    """A decision or payment is not open to this submission; the message says why."""


class NotQueued(DomainError):
    """A mail could not be handed to the workers. What was stored before stays stored."""


class MailFailed(DomainError):
    """The mail server could not be reached or did not take a mail for now. It names no address."""


class MailRefused(DomainError):
    """The mail server refused the mail for good. It names no address."""
