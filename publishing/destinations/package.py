"""A checked release directory, for destinations."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from publishing.errors import BrokenDirectory
from publishing.files import directory
from publishing.files.directory import MANIFEST, FileFacts


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


def package(
    source: Path, *, slug: str, number: int, rehearsal: bool, manifest_sha256: str, earlier: Sequence[Path]
) -> Package:
    """Check every file of the directory and return it as a package.

    Raise :class:`~publishing.errors.BrokenDirectory` unless it is exactly what was published. Missing
    directories of ``earlier`` releases are left out.
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
