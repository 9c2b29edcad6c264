"""Refusals by this room's actions. Their messages are shown to users."""

from collections.abc import Sequence

from accounts.errors import DomainError


class InvalidRound(DomainError):
    """An impossible round: without stories, or with a story of another study or role."""


class NoTestHere(DomainError):
    """The study relies on another study's test and has none of its own."""


class LastActiveRound(DomainError):
    """The only active round cannot be retired."""


class InvalidKey(DomainError):
    """An invalid answer key; ``problems`` lists everything that is wrong with it."""

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = list(problems)
        super().__init__(" ".join(self.problems))


class KeyIsFrozen(DomainError):
    """The round has attempts under its key, so the key cannot change any more."""


class KeyChanged(DomainError):
    """Somebody else saved a newer version of the key meanwhile."""


class InvalidExpert(DomainError):
    """A person who cannot be asked as an expert, or who was not asked."""


class RoundIsActive(DomainError):
    """The round is active, and an attempt freezes its key: experts cannot be asked about it."""


class ExpertsAtWork(DomainError):
    """Experts are still answering, so the key cannot be set."""


class GatheringOver(DomainError):
    """The experts' answers are revealed, so nobody can answer blind any more."""


class NothingHandedIn(DomainError):
    """No expert has handed in, so there is nothing to reveal."""


class IncompleteReview(DomainError):
    """An expert's review with missing answers, for the stories at ``positions``."""

    def __init__(self, message: str, positions: Sequence[int]) -> None:
        self.positions = list(positions)
        super().__init__(message)


class NoRound(DomainError):
    """The study has no active qualification round."""


class NoAttemptLeft(DomainError):
    """The annotator has used all attempts that the round allows."""


class NotTheirTurn(DomainError):
    """The test is not the annotator's current step."""


class AlreadyHandedIn(DomainError):
    """The attempt or review was handed in; its answers cannot change any more."""


class AnsweredMeanwhile(DomainError):
    """The story has newer answers than those that the annotator saw when they answered."""
