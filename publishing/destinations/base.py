"""What a place for releases must be able to do, and what can go wrong there.

A destination takes a whole release directory and nothing else. Three promises hold for every one: who
reads there sees the whole release or none of it; a deposit that was cut off at any instant is completed
by running it again; and it only counts as done when every file there has been compared with MANIFEST.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from publishing.destinations.package import Package
from publishing.errors import PublishingError
from publishing.files.directory import FileFacts

Say = Callable[[str], None]
"""Takes one line of progress."""


class DestinationError(PublishingError):
    """Base of what goes wrong at a destination. The message ends with what to do, and holds no secret."""


class WrongPlace(DestinationError):
    """The place is not named as it must be, or there is no such place."""


class AccessRefused(DestinationError):
    """The place does not know who we are, or does not let us do this."""


class Unreachable(DestinationError):
    """The place did not answer, or broke off. Running it again goes on where it stopped."""


class PlaceOccupied(DestinationError):
    """Something else stands there. It is never overwritten."""


class WrongVisibility(DestinationError):
    """Who can read there is not who was said to."""


class Damaged(DestinationError):
    """What stands there is not what was sent."""


class Refused(DestinationError):
    """The place answered with something else that it does not want."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a deposit would change. ``note`` says who will be able to read it, and what is made for it."""

    upload: tuple[FileFacts, ...]
    remove: tuple[str, ...] = ()
    note: str = ""

    @property
    def size(self) -> int:
        """Bytes to be uploaded."""
        return sum(file.size for file in self.upload)


@dataclass(frozen=True, slots=True)
class Deposited:
    """A whole release at a place, compared with MANIFEST. ``url`` is where a browser finds it."""

    url: str


class Destination(ABC):
    """One place. ``place`` names it in public; it holds no secret."""

    kind: ClassVar[str]
    place: str
    public: bool
    """Whether everybody is meant to be able to read there."""

    @abstractmethod
    def plan(self, package: Package) -> Plan:
        """What :meth:`deposit` would do now. Only reads. Raises :class:`DestinationError`."""

    @abstractmethod
    def deposit(self, package: Package, say: Say) -> Deposited:
        """Bring the release there, or complete it, and compare it. Raises :class:`DestinationError`."""
