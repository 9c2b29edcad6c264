"""Refusals by this room's actions. Their messages are shown to users."""

from collections.abc import Sequence


class QualificationError(Exception):
    """Base of every refusal by ``qualification.actions``. ``values`` fill the message's placeholders."""

    def __init__(self, message: str = "", **values: object) -> None:
        super().__init__(message % values if values else message)


class InvalidRound(QualificationError):
    """An impossible round: without stories, or with a story of another study or role."""


class NoTestHere(QualificationError):
    """The study relies on another study's test and has none of its own."""


class LastActiveRound(QualificationError):
    """The only active round cannot be retired."""


class InvalidKey(QualificationError):
    """An invalid answer key; ``problems`` lists everything that is wrong with it."""

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = list(problems)
        super().__init__(" ".join(self.problems))


class KeyIsFrozen(QualificationError):
    """The round has attempts under its key, so the key cannot change any more."""


class KeyChanged(QualificationError):
    """Somebody else saved a newer version of the key meanwhile."""


class InvalidExpert(QualificationError):
    """A person who cannot be asked as an expert, or who was not asked."""


class RoundIsActive(QualificationError):
    """The round is active, and an attempt freezes its key: experts cannot be asked about it."""


class ExpertsAtWork(QualificationError):
    """Experts are still answering, so the key cannot be set."""


class GatheringOver(QualificationError):
    """The experts' answers are revealed, so nobody can answer blind any more."""


class NothingHandedIn(QualificationError):
    """No expert has handed in, so there is nothing to reveal."""


class IncompleteReview(QualificationError):
    """An expert's review with missing answers, for the stories at ``positions``."""

    def __init__(self, message: str, positions: Sequence[int]) -> None:
        self.positions = list(positions)
        super().__init__(message)


class NoRound(QualificationError):
    """The study has no active qualification round."""


class NoAttemptLeft(QualificationError):
    """The annotator has used all attempts that the round allows."""


class NotTheirTurn(QualificationError):
    """The test is not the annotator's current step."""


class AlreadyHandedIn(QualificationError):
    """The attempt or review was handed in; its answers cannot change any more."""


class AnsweredMeanwhile(QualificationError):
    """The story has newer answers than those that the annotator saw when they answered."""
