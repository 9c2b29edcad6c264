"""The interface of outside places for releases, their addresses, and what is sent there.

A destination takes a whole release directory. Each one promises: readers see the whole release or none of it;
an interrupted deposit is completed by running it again; and a deposit is only done when every file was
compared with MANIFEST.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from publishing.errors import WrongPlace
from publishing.files.directory import MANIFEST, FileFacts

S3 = "s3"
HUGGING_FACE = "huggingface"
ZIP = "zip"

_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_PREFIX = re.compile(r"[A-Za-z0-9_.-]+(/[A-Za-z0-9_.-]+)*")
_REPOSITORY = re.compile(r"[A-Za-z0-9_.-]{1,96}/[A-Za-z0-9_.-]{1,96}")
_FORMS = "Places are named s3://bucket/prefix, huggingface:owner/name or zip:PATH."

Log = Callable[[str], None]
"""Called with one line of progress."""


@dataclass(frozen=True, slots=True)
class Package:
    """A complete release. ``files`` are sorted by path, with MANIFEST last.

    ``earlier`` are the MANIFESTs of the study's earlier releases, which this one may follow in a place that
    keeps versions.
    """

    directory: Path
    slug: str
    number: int
    rehearsal: bool
    files: tuple[FileFacts, ...]
    earlier: tuple[bytes, ...] = ()

    @property
    def name(self) -> str:
        """The directory to which archives unpack: ``pilot-1``."""
        return f"{self.slug}-{self.number}"

    @property
    def title(self) -> str:
        """The title of a commit or record."""
        title = f"Release {self.number} of {self.slug}"
        return f"Test run, not data: {title}" if self.rehearsal else title

    @property
    def manifest(self) -> bytes:
        return (self.directory / MANIFEST).read_bytes()


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


def parse_address(text: str) -> tuple[str, str]:
    """Return the kind and the place of an address; both may be shown. Raise :class:`WrongPlace`."""
    scheme, separator, rest = text.partition(":")
    readers = {S3: _s3, HUGGING_FACE: _repository, ZIP: _zip}
    if not separator or scheme not in readers:
        raise WrongPlace(f"“{text}” is not a place for a release. {_FORMS}")
    return scheme, readers[scheme](rest)


def _s3(rest: str) -> str:
    bucket, _, prefix = rest.removeprefix("//").rstrip("/").partition("/")
    if not rest.startswith("//") or not _BUCKET.fullmatch(bucket):
        raise WrongPlace(
            "After s3:// comes the name of a bucket: 3 to 63 lower-case letters, digits, dots and hyphens, "
            "for example s3://our-datasets/pilot/1."
        )
    if not _PREFIX.fullmatch(prefix) or {".", ".."} & set(prefix.split("/")):
        raise WrongPlace(
            "After the bucket comes a prefix of letters, digits, dots, hyphens and underscores, in parts "
            f"divided by single slashes, that is for this release alone, for example s3://{bucket}/pilot/1."
        )
    return f"s3://{bucket}/{prefix}"


def _repository(rest: str) -> str:
    if not _REPOSITORY.fullmatch(rest):
        raise WrongPlace(
            "After huggingface: come the owner and the name of a dataset repository, for example "
            "huggingface:our-lab/pilot."
        )
    return rest


def _zip(rest: str) -> str:
    path = Path(rest)
    if path.suffix != ".zip":
        raise WrongPlace(
            "After zip: comes the path of a file that ends in .zip, for example zip:pilot-1.zip."
        )
    return str(path.absolute())
