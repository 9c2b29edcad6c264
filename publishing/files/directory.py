"""A release directory on disk: written file by file, hashed, made durable, and checked again.

Nothing here knows what is in the files. ``MANIFEST`` lists every other file as ``sha256sum -c`` reads
it and is written last, so a directory whose MANIFEST holds is a whole one.
"""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from publishing.errors import BrokenDirectory

MANIFEST = "MANIFEST"
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class FileFacts:
    """One file of a release: its path in the directory, its size in bytes, its SHA-256 in hex."""

    path: str
    size: int
    sha256: str


class HashingFile(io.RawIOBase):
    """A file that is hashed while it is written, from its beginning to its end."""

    def __init__(self, handle: BinaryIO) -> None:
        self._handle = handle
        self._digest = hashlib.sha256()
        self._size = 0

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._size

    def write(self, data: Any) -> int:
        self._handle.write(data)
        self._digest.update(data)
        self._size += len(data)
        return len(data)

    def facts(self, path: str) -> FileFacts:
        return FileFacts(path, self._size, self._digest.hexdigest())


class DirectoryWriter:
    """Writes the files of one directory that did not exist before.

    ``directory`` is made, with its parents. Raises ``OSError`` as the file system does.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.files: list[FileFacts] = []
        directory.mkdir(parents=True)

    @contextmanager
    def open(self, path: str) -> Iterator[HashingFile]:
        """A new file at this path (with ``/``), on disk for good when the block ends."""
        target = self.directory / path
        target.parent.mkdir(parents=True, exist_ok=True)
        with open(target, "xb", buffering=_CHUNK) as handle:
            hashing = HashingFile(handle)
            yield hashing
            handle.flush()
            os.fsync(handle.fileno())
        self.files.append(hashing.facts(path))

    def write(self, path: str, data: bytes) -> None:
        with self.open(path) as file:
            file.write(data)

    def finish(self) -> str:
        """Write MANIFEST and make every directory durable. Returns the SHA-256 of MANIFEST."""
        lines = [f"{file.sha256}  {file.path}\n" for file in sorted(self.files, key=lambda file: file.path)]
        self.write(MANIFEST, "".join(lines).encode())
        manifest = self.files.pop()
        for folder, _, _ in os.walk(self.directory):
            sync_directory(Path(folder))
        return manifest.sha256


def sync_directory(directory: Path) -> None:
    """Make the names in a directory durable."""
    handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def file_facts(directory: Path, path: str) -> FileFacts:
    """Size and hash of one file, read in pieces."""
    digest = hashlib.sha256()
    size = 0
    with open(directory / path, "rb") as handle:
        while chunk := handle.read(_CHUNK):
            digest.update(chunk)
            size += len(chunk)
    return FileFacts(path, size, digest.hexdigest())


def verify(directory: Path) -> tuple[list[FileFacts], str]:
    """The files of a whole directory and the SHA-256 of its MANIFEST.

    Raises :class:`~publishing.errors.BrokenDirectory` when MANIFEST is missing or unreadable, when a
    file does not have the hash it says, or when there is a file (or a link) it does not list.
    """
    expected = read_manifest(directory)
    present = {
        str((Path(folder) / name).relative_to(directory))
        for folder, folders, names in os.walk(directory)
        for name in (*names, *(link for link in folders if (Path(folder) / link).is_symlink()))
    } - {MANIFEST}
    if present != expected.keys():
        odd = sorted(present ^ expected.keys())[0]
        raise BrokenDirectory(f"{directory}: {odd} is listed in MANIFEST or present, but not both.")
    files = []
    for path, sha256 in sorted(expected.items()):
        if (directory / path).is_symlink():
            raise BrokenDirectory(f"{directory}: {path} is a link, not a file.")
        facts = file_facts(directory, path)
        if facts.sha256 != sha256:
            raise BrokenDirectory(f"{directory}: {path} does not have the SHA-256 that MANIFEST says.")
        files.append(facts)
    return files, file_facts(directory, MANIFEST).sha256


def read_manifest(directory: Path) -> dict[str, str]:
    """The SHA-256 of every file that MANIFEST lists. Raises :class:`~publishing.errors.BrokenDirectory`."""
    try:
        text = (directory / MANIFEST).read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        raise BrokenDirectory(f"{directory}: there is no MANIFEST.") from None
    except UnicodeDecodeError:
        raise BrokenDirectory(f"{directory}: MANIFEST is not UTF-8 text.") from None
    expected: dict[str, str] = {}
    for row in text.splitlines():
        sha256, separator, path = row.partition("  ")
        if not separator or not path:
            raise BrokenDirectory(f"{directory}: MANIFEST has a line that is not “<sha256>  <path>”.")
        if path in expected:
            raise BrokenDirectory(f"{directory}: MANIFEST lists {path} twice.")
        expected[path] = sha256
    if not expected:
        raise BrokenDirectory(f"{directory}: MANIFEST is empty.")
    return expected
