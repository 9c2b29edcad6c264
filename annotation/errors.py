"""What can go wrong in this room, by name. Messages are for the people who meet them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from django.utils.translation import gettext as _

from annotation.importing.problems import Problem
from annotation.rules import NoChange, Reason

if TYPE_CHECKING:
    from annotation.models import Invitation


class AnnotationError(Exception):
    """Base of every refusal by ``annotation.actions``."""


class StudyExists(AnnotationError):
    """A study with this slug is there already."""


class InvalidStudy(AnnotationError):
    """The study's configuration cannot be used; the message names the field.

    ``problems`` says what is wrong by field, where a field is to blame.
    """

    def __init__(self, message: str = "", problems: Mapping[str, str] | None = None) -> None:
        self.problems = dict(problems or {})
        super().__init__(message or "; ".join(f"{name}: {text}" for name, text in self.problems.items()))


class InvalidToken(AnnotationError):
    """No API token can be made of this; the message says why."""


class LastOwner(AnnotationError):
    """A study always has an owner; this would leave it without."""


class AlreadyMember(AnnotationError):
    """The person belongs to the study already; their role is changed in its list of people."""


class InvalidInvitation(AnnotationError):
    """Nobody can be invited with this; the message says why."""


class InvitationClosed(AnnotationError):
    """The invitation opens nothing any more: accepted, taken back, or too old (``standing``)."""

    def __init__(self, standing: Invitation.Standing) -> None:
        self.standing = standing
        super().__init__(f"The invitation is {standing.value}.")


class WrongState(AnnotationError):
    """The study or the enrollment is not in a state from which this can be done."""


class StudyNotReady(AnnotationError):
    """The study cannot open yet; ``blockers`` are sentences with their remedies."""

    def __init__(self, blockers: Sequence[str]) -> None:
        self.blockers = list(blockers)
        super().__init__(" ".join([_("The study cannot open yet."), *self.blockers]))


class ImportRefused(AnnotationError):
    """A file was refused as a whole and nothing of it was stored; ``problems`` says why.

    ``total`` counts every problem found; ``problems`` keeps the first of them.
    """

    def __init__(self, problems: Sequence[Problem], total: int) -> None:
        self.problems = list(problems)
        self.total = total
        super().__init__(f"The import was refused: {total} problem{'' if total == 1 else 's'}.")


class PastRefused(AnnotationError):
    """Votes that were given elsewhere do not fit the study; nothing of them was stored."""


class ReasonMissing(AnnotationError):
    """Something was to be done to a person without saying why."""


class InvalidCheckKey(AnnotationError):
    """The accepted options of a hidden check cannot be used; ``problems`` says everything that is wrong."""

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = list(problems)
        super().__init__(" ".join(self.problems))


class CheckKeyIsFinal(AnnotationError):
    """Somebody has been judged by the accepted options of a hidden check, so they cannot be replaced."""


class CheckKeyChanged(AnnotationError):
    """Somebody else has decided what a hidden check accepts, since it was looked at."""


class InvalidCheckKeys(AnnotationError):
    """Of several hidden checks, these cannot accept what was asked: ``problems`` by the story's row."""

    def __init__(self, problems: Mapping[int, str]) -> None:
        self.problems = dict(problems)
        super().__init__(" ".join(self.problems.values()))


class NothingToReview(AnnotationError):
    """No answer fits what was to be drawn for review."""


class JudgedMeanwhile(AnnotationError):
    """Somebody else has decided about a vote since it was shown. Nothing was stored."""


class NotTheirs(AnnotationError):
    """An assignment was named that does not belong to the person in front of us."""


class LeaseOver(AnnotationError):
    """A lease was to be ended that had ended before."""


class NotAdmitted(AnnotationError):
    """The study is not for this person; ``reason`` says why. Nothing was stored."""

    def __init__(self, reason: Reason) -> None:
        self.reason = reason
        super().__init__(f"The person may not take part: {reason.value}.")


class CannotChange(AnnotationError):
    """An answer cannot be changed any more; ``reason`` says why. The answer stands as it was."""

    def __init__(self, reason: NoChange) -> None:
        self.reason = reason
        super().__init__(f"The answer cannot be changed: {reason.value}.")
