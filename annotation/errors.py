"""Errors of this room. Their messages are shown to users."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from django.utils.translation import gettext as _

from accounts.errors import DomainError
from annotation.importing.rows import Problem
from annotation.rules import NoChange, Reason

if TYPE_CHECKING:
    from annotation.models import Invitation


class StudyExists(DomainError):
    """A study with this slug exists already."""


class InvalidStudy(DomainError):
    """The study's configuration is invalid; the message names the field. ``problems``: by field."""

    def __init__(self, message: str = "", problems: Mapping[str, str] | None = None) -> None:
        self.problems = dict(problems or {})
        super().__init__(message or "; ".join(f"{name}: {text}" for name, text in self.problems.items()))


class AlreadyMember(DomainError):
    """The researcher is a member already; change their role on the page of members."""


class InvitationClosed(DomainError):
    """The invitation is no longer open: accepted, revoked, or expired (``status``)."""

    def __init__(self, status: Invitation.Status) -> None:
        self.status = status
        super().__init__(f"The invitation is {status.value}.")


class InvalidInput(DomainError):
    """A value does not fit what the action is about; the message says why. Nothing was stored."""


class WrongState(DomainError):
    """A study, an enrollment, a round or the like is in the wrong state for the action."""


class ChangedMeanwhile(DomainError):
    """There is something newer than what the caller saw. Nothing was stored."""


class StudyNotReady(DomainError):
    """The study cannot open yet; ``blockers`` says what to do."""

    def __init__(self, blockers: Sequence[str]) -> None:
        self.blockers = list(blockers)
        super().__init__(" ".join([_("The study can’t open yet."), *self.blockers]))


class ImportRefused(DomainError):
    """A file was refused and nothing of it stored. ``problems`` has the first of ``total`` problems."""

    def __init__(self, problems: Sequence[Problem], total: int) -> None:
        self.problems = list(problems)
        self.total = total
        super().__init__(f"The import was refused: {total} problem{'' if total == 1 else 's'}.")


class ReasonMissing(DomainError):
    """The action needs a reason."""


class InvalidKey(DomainError):
    """A hidden check or a round cannot accept these options; ``problems`` lists all problems."""

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = list(problems)
        super().__init__(" ".join(self.problems))


class InvalidCheckKeys(DomainError):
    """Some of several hidden checks cannot accept the given options: ``problems`` by story (primary key)."""

    def __init__(self, problems: Mapping[int, str]) -> None:
        self.problems = dict(problems)
        super().__init__(" ".join(self.problems.values()))


class NotTheirs(DomainError):
    """The assignment belongs to another annotator."""


class NotAdmitted(DomainError):
    """The annotator may not join the study; ``reason`` says why. Nothing was stored."""

    def __init__(self, reason: Reason) -> None:
        self.reason = reason
        super().__init__(f"The person may not take part: {reason.value}.")


class CannotChange(DomainError):
    """The answer can no longer be changed; ``reason`` says why. It stays as it was."""

    def __init__(self, reason: NoChange) -> None:
        self.reason = reason
        super().__init__(f"The answer cannot be changed: {reason.value}.")
