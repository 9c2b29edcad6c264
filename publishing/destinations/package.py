"""A release directory, checked, as destinations take it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from publishing.errors import BrokenDirectory
from publishing.files import directory
from publishing.files.directory import MANIFEST, FileFacts


@dataclass(frozen=True, slots=True)
class Package:
    """A whole release. ``files`` are sorted by path, with MANIFEST as the last one.

    ``earlier`` are the MANIFESTs of the study's releases before this one: what may be followed by it in
    a place that keeps versions.
    """

    directory: Path
    slug: str
    number: int
    rehearsal: bool
    files: tuple[FileFacts, ...]
    earlier: tuple[bytes, ...] = ()

    @property
    def name(self) -> str:
        """``pilot-1``, the directory that archives unpack to."""
        return f"{self.slug}-{self.number}"

    @property
    def title(self) -> str:
        """What a commit or a record calls it."""
        said = f"Release {self.number} of {self.slug}"
        return f"Rehearsal, not data: {said}" if self.rehearsal else said

    @property
    def manifest(self) -> bytes:
        return (self.directory / MANIFEST).read_bytes()


def package(
    source: Path, *, slug: str, number: int, rehearsal: bool, manifest_sha256: str, earlier: Sequence[Path]
) -> Package:
    """The directory as a package, after reading every file of it.

    Raises :class:`~publishing.errors.BrokenDirectory` unless it is what was published, to the byte.
    Directories of ``earlier`` releases that are away are left out.
    """
    files, found = directory.verify(source)
    if found != manifest_sha256:
        raise BrokenDirectory(
            f"{source}: MANIFEST is not the one that was published. Restore the directory from a backup."
        )
    manifests = (folder / MANIFEST for folder in earlier)
    return Package(
        directory=source,
        slug=slug,
        number=number,
        rehearsal=rehearsal,
        files=(*files, directory.file_facts(source, MANIFEST)),
        earlier=tuple(path.read_bytes() for path in manifests if path.is_file()),
    )
