"""Refusals by this room's actions. Their messages are shown to users."""

from accounts.errors import DomainError


class NotTheirTurn(DomainError):
    """The test is not the annotator's current step."""


class AlreadyHandedIn(DomainError):
    """The attempt or review was handed in; its answers cannot change any more."""
