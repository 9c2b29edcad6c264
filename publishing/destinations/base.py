"""The interface of outside places for releases, and their errors.

A destination takes a whole release directory. Each one promises: readers see the whole release or none of it;
an interrupted deposit is completed by running it again; and a deposit is only done when every file was
compared with MANIFEST.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from accounts.errors import DomainError
from publishing.destinations.package import Package
from publishing.files.directory import FileFacts

Log = Callable[[str], None]
"""Called with one line of progress."""


class DestinationError(DomainError):
    """Base of all destination errors. The message ends with a remedy and contains no secret."""


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


class Refused(DestinationError):
    """The place refused for another reason."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The changes of a deposit. ``note`` says who will be able to read it, and what is created."""

    upload: tuple[FileFacts, ...]
    remove: tuple[str, ...] = ()
    note: str = ""

    @property
    def size(self) -> int:
        """Bytes to upload."""
        return sum(file.size for file in self.upload)


class Destination(ABC):
    """One place. ``place`` is its public name, without secrets."""

    kind: ClassVar[str]
    place: str
    public: bool
    """True if everybody should be able to read there."""

    @abstractmethod
    def plan(self, package: Package) -> Plan:
        """Return what :meth:`deposit` would do now. Only reads. Raise :class:`DestinationError`."""

    @abstractmethod
    def deposit(self, package: Package, log: Log) -> str:
        """Upload or complete the release, compare every file with MANIFEST, and return its URL.

        Raise :class:`DestinationError`.
        """
