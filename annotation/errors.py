"""Errors of this room. Their messages are shown to users."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from django.utils.translation import gettext as _

from annotation.importing.problems import Problem
from annotation.rules import NoChange, Reason

if TYPE_CHECKING:
    from annotation.models import Invitation


class AnnotationError(Exception):
    """Base of all errors that ``annotation.actions`` raises. ``values`` fill the message's placeholders."""

    def __init__(self, message: str = "", **values: object) -> None:
        super().__init__(message % values if values else message)


class StudyExists(AnnotationError):
    """A study with this slug exists already."""


class InvalidStudy(AnnotationError):
    """The study's configuration is invalid; the message names the field. ``problems``: by field."""

    def __init__(self, message: str = "", problems: Mapping[str, str] | None = None) -> None:
        self.problems = dict(problems or {})
        super().__init__(message or "; ".join(f"{name}: {text}" for name, text in self.problems.items()))


class InvalidToken(AnnotationError):
    """An API token cannot have these values; the message says why."""


class LastOwner(AnnotationError):
    """The change would leave the study without an owner."""


class AlreadyMember(AnnotationError):
    """The researcher is a member already; change their role on the page of members."""


class InvalidInvitation(AnnotationError):
    """The invitation is invalid; the message says why."""


class InvitationClosed(AnnotationError):
    """The invitation is no longer open: accepted, revoked, or expired (``status``)."""

    def __init__(self, status: Invitation.Status) -> None:
        self.status = status
        super().__init__(f"The invitation is {status.value}.")


class WrongState(AnnotationError):
    """The study or enrollment is in the wrong state for this action."""


class NoRecipient(AnnotationError):
    """Nobody and nothing would get the alert."""


class StudyNotReady(AnnotationError):
    """The study cannot open yet; ``blockers`` says what to do."""

    def __init__(self, blockers: Sequence[str]) -> None:
        self.blockers = list(blockers)
        super().__init__(" ".join([_("The study can’t open yet."), *self.blockers]))


class ImportRefused(AnnotationError):
    """A file was refused and nothing of it stored. ``problems`` has the first of ``total`` problems."""

    def __init__(self, problems: Sequence[Problem], total: int) -> None:
        self.problems = list(problems)
        self.total = total
        super().__init__(f"The import was refused: {total} problem{'' if total == 1 else 's'}.")


class VotesRefused(AnnotationError):
    """Votes to import do not fit the study; none was stored."""


class ReasonMissing(AnnotationError):
    """The action needs a reason."""


class InvalidCheckKey(AnnotationError):
    """A hidden check cannot accept these options; ``problems`` lists all problems."""

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = list(problems)
        super().__init__(" ".join(self.problems))


class CheckKeyIsFinal(AnnotationError):
    """Answers were graded by the check's key, so it cannot be replaced."""


class CheckKeyChanged(AnnotationError):
    """The check's key has changed since the caller saw it."""


class InvalidCheckKeys(AnnotationError):
    """Some of several hidden checks cannot accept the given options: ``problems`` by story (primary key)."""

    def __init__(self, problems: Mapping[int, str]) -> None:
        self.problems = dict(problems)
        super().__init__(" ".join(self.problems.values()))


class NothingToReview(AnnotationError):
    """No vote matches the sample to draw."""


class JudgedMeanwhile(AnnotationError):
    """There is a newer decision about the vote or story than the one shown. Nothing was stored."""


class NotTheirs(AnnotationError):
    """The assignment belongs to another annotator."""


class LeaseOver(AnnotationError):
    """The lease to release has ended already."""


class NotAdmitted(AnnotationError):
    """The annotator may not join the study; ``reason`` says why. Nothing was stored."""

    def __init__(self, reason: Reason) -> None:
        self.reason = reason
        super().__init__(f"The person may not take part: {reason.value}.")


class CannotChange(AnnotationError):
    """The answer can no longer be changed; ``reason`` says why. It stays as it was."""

    def __init__(self, reason: NoChange) -> None:
        self.reason = reason
        super().__init__(f"The answer cannot be changed: {reason.value}.")
