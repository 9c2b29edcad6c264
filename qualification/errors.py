"""What can go wrong in this room, by name. Messages are for the people who meet them."""

from __future__ import annotations

from collections.abc import Sequence


class QualificationError(Exception):
    """Base of every refusal by ``qualification.actions``."""


class InvalidRound(QualificationError):
    """A round that cannot be: no stories, a story of another study or role."""


class NoTestHere(QualificationError):
    """The study takes people who are qualified in another one, so that nobody could take a test here."""


class LastActiveRound(QualificationError):
    """The only round that people can take cannot be retired."""


class InvalidKey(QualificationError):
    """An answer key that cannot be used; ``problems`` says everything that is wrong with it."""

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = list(problems)
        super().__init__(" ".join(self.problems))


class KeyIsFrozen(QualificationError):
    """People have attempted the round under its key, so the key cannot change any more."""


class KeyChanged(QualificationError):
    """Somebody else has set a key since the one that this change was made from."""


class InvalidExpert(QualificationError):
    """Somebody who cannot be asked as an expert, or who has not been."""


class RoundIsActive(QualificationError):
    """People can begin the round, which freezes its key: experts cannot be asked about it."""


class ExpertsAtWork(QualificationError):
    """The experts' answers are still coming in, so that nothing can be decided about the key."""


class GatheringOver(QualificationError):
    """The experts' answers have been laid open, so that nobody can answer blind any more."""


class NothingHandedIn(QualificationError):
    """No expert has handed in, so that there is nothing to lay open."""


class IncompleteReview(QualificationError):
    """An expert's answers with something missing; ``positions`` are those of the stories."""

    def __init__(self, message: str, positions: Sequence[int]) -> None:
        self.positions = list(positions)
        super().__init__(message)


class NoRound(QualificationError):
    """The study has no qualification round that people could attempt."""


class NoAttemptLeft(QualificationError):
    """The person has used every attempt the round allows."""


class NotTheirTurn(QualificationError):
    """The person is not at the step where they attempt the round."""


class AlreadyHandedIn(QualificationError):
    """The attempt has been handed in; its answers cannot change any more."""
