"""What can go wrong in this room, by name. Messages are for the people who meet them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from django.utils.translation import gettext as _

if TYPE_CHECKING:
    from publishing.models import Release


class PublishingError(Exception):
    """Base of every refusal by this room."""


class TooManyVotes(PublishingError):
    """A story has more counted votes than its study asks for: invariant 1 is broken."""


class UnknownFilter(PublishingError):
    """No filter has this name."""


class NothingToRelease(PublishingError):
    """The study is a draft, none of its stories has all its votes, or the filter keeps none."""


class ReleaseUnderway(PublishingError):
    """The study has a release that is being made; ``release`` is that one."""

    def __init__(self, release: Release) -> None:
        self.release = release
        super().__init__(
            _(
                "Release %(number)s of “%(study)s” is being made already. "
                "Wait until it is published, or has failed, before asking for the next."
            )
            % {"number": release.number, "study": release.study.slug}
        )


class NumberTaken(PublishingError):
    """The release of the number that was given is another one than was asked for."""


class PlaceTaken(PublishingError):
    """Another whole release stands where this one would go; it is never removed."""


class BrokenDirectory(PublishingError):
    """A release directory does not agree with its MANIFEST."""


class InvalidStatement(PublishingError):
    """A data statement that cannot be published; ``problems`` says what is wrong, by the item."""

    def __init__(self, problems: Mapping[str, str]) -> None:
        self.problems = dict(problems)
        super().__init__("\n".join(f"{name}: {problem}" for name, problem in self.problems.items()))


class NotWithdrawable(PublishingError):
    """The release is not published, is withdrawn already, or no reason was given."""


class Withdrawn(PublishingError):
    """The release was withdrawn; what was asked for is for releases that stand."""

    def __init__(self, release: Release) -> None:
        self.release = release
        withdrawal = release.withdrawal
        super().__init__(
            _("Release %(number)s of “%(study)s” was withdrawn on %(day)s: %(reason)s")
            % {
                "number": release.number,
                "study": release.study.slug,
                "day": f"{withdrawal.withdrawn_at:%Y-%m-%d}",
                "reason": withdrawal.reason,
            }
        )


class NotComparable(PublishingError):
    """Two releases that cannot be compared, or whose files are not there as they were published."""


class NotDrawable(PublishingError):
    """No sample can be drawn from the release."""


class NotImportable(PublishingError):
    """A release directory that cannot become a study here."""
