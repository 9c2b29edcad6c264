"""Errors of this room. Their messages are written for the user who meets them."""

from collections.abc import Mapping

from django.utils.translation import gettext as _

from accounts.errors import DomainError


class TooManyVotes(DomainError):
    """A story has more counted votes than its study asks for, which breaks invariant 1."""


class UnknownFilter(DomainError):
    """There is no filter of this name."""

    silent_variable_failure = True
    """A page shows nothing of a release's filter that this version does not have."""


class NothingToRelease(DomainError):
    """The study is a draft, none of its stories has all its votes, or the filter keeps none."""


class ReleaseUnderway(DomainError):
    """The study already has an unfinished release, whose key is ``release_id``."""

    def __init__(self, *, release_id: int, study: str, number: int) -> None:
        self.release_id = release_id
        said = _(
            "Release %(number)s of “%(study)s” is already being built. "
            "Wait until it is published or has failed, then request the next one."
        )
        super().__init__(said, number=number, study=study)


class NumberTaken(DomainError):
    """The given number belongs to a different release."""


class PlaceTaken(DomainError):
    """Something else is at the place where the release would go. It is never removed."""


class BrokenDirectory(DomainError):
    """A release directory does not match its MANIFEST."""


class InvalidStatement(DomainError):
    """A data statement that cannot be published. ``problems`` maps each item to what is wrong with it."""

    def __init__(self, problems: Mapping[str, str]) -> None:
        self.problems = dict(problems)
        super().__init__("\n".join(f"{name}: {problem}" for name, problem in self.problems.items()))


class UnusableRelease(DomainError):
    """A release cannot be withdrawn, deposited, compared, drawn from or imported; the message says why."""


class NotEvaluable(DomainError):
    """A model's answers do not fit the release, or the release has nothing to compare them with."""


class DestinationError(DomainError):
    """A place cannot take the release. The message ends with a remedy and contains no secret."""


class WrongPlace(DestinationError):
    """The address is malformed, or there is no such place."""


class AccessRefused(DestinationError):
    """The credentials are unknown or lack a right."""


class Unreachable(DestinationError):
    """The place did not answer, or broke off. Running the deposit again continues it."""


class PlaceOccupied(DestinationError):
    """Something else is there. It is never overwritten."""


class WrongVisibility(DestinationError):
    """The visibility is not the requested one."""


class Damaged(DestinationError):
    """The stored files are not the ones that were sent."""
