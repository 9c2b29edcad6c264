"""Release directories on disk: written, hashed, made durable, verified, copied.

Knows nothing of the files' content. ``MANIFEST`` lists every other file in the format of ``sha256sum -c`` and
is written last, so a directory whose MANIFEST holds is complete.
"""

import hashlib
import io
import os
import secrets
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from publishing.errors import BrokenDirectory, PlaceTaken

MANIFEST = "MANIFEST"
_CHUNK = 1 << 20
_CONTENT_TYPES = {
    ".md": "text/markdown; charset=utf-8",
    ".jsonl": "application/jsonl; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".cff": "application/yaml",
    ".parquet": "application/vnd.apache.parquet",
    "": "text/plain; charset=utf-8",
}


@dataclass(frozen=True, slots=True)
class FileFacts:
    """A file of a release: path in the directory, size in bytes, SHA-256 in hex."""

    path: str
    size: int
    sha256: str


class HashingFile(io.RawIOBase):
    """A file that is written from start to end and hashed, in a thread. Call :meth:`wait` at the end.

    An error is raised by the next call.
    """

    def __init__(self, handle: io.FileIO, thread: Executor) -> None:
        self._handle, self._thread = handle, thread
        self._digest = hashlib.sha256()
        self._size = 0
        self._pending: Future[None] | None = None

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._size

    def write(self, data: Any) -> int:
        self.wait()
        copied = bytes(data)  # the caller uses its buffer again
        self._pending = self._thread.submit(self._write, copied)
        self._size += len(copied)
        return len(copied)

    def wait(self) -> None:
        """Wait until everything is written. Raise ``OSError`` as the file system does."""
        if self._pending:
            self._pending.result()

    def _write(self, data: bytes) -> None:
        left = memoryview(data)
        while left:
            left = left[self._handle.write(left) :]
        self._digest.update(data)

    def facts(self, path: str) -> FileFacts:
        return FileFacts(path, self._size, self._digest.hexdigest())


class DirectoryWriter:
    """Writes the files of one new directory.

    ``directory`` is created, with its parents. Raise ``OSError`` as the file system does.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.files: list[FileFacts] = []
        directory.mkdir(parents=True)

    @contextmanager
    def open(self, path: str) -> Iterator[BinaryIO]:
        """Open a new file at this path (with ``/``); it is durable when the block ends."""
        target = self.directory / path
        target.parent.mkdir(parents=True, exist_ok=True)
        with open(target, "xb", buffering=0) as handle, ThreadPoolExecutor(1) as thread:
            hashing = HashingFile(handle, thread)
            with io.BufferedWriter(hashing, _CHUNK) as file:
                yield file
            hashing.wait()
            os.fsync(handle.fileno())
        self.files.append(hashing.facts(path))

    def write(self, path: str, data: bytes) -> None:
        with self.open(path) as file:
            file.write(data)

    def discard(self, path: str) -> None:
        """Remove a file again."""
        (self.directory / path).unlink()
        self.files = [file for file in self.files if file.path != path]

    def finish(self) -> str:
        """Write MANIFEST and make every directory durable. Return the SHA-256 of MANIFEST."""
        lines = [f"{file.sha256}  {file.path}\n" for file in sorted(self.files, key=lambda file: file.path)]
        self.write(MANIFEST, "".join(lines).encode())
        manifest = self.files.pop()
        for folder, _, _ in os.walk(self.directory):
            sync(Path(folder))
        return manifest.sha256


def sync(path: Path) -> None:
    """Make a file, or the names in a directory, durable."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_all(directory: Path) -> None:
    """Make a directory durable with everything in it."""
    for folder, _, names in os.walk(directory):
        for name in names:
            sync(Path(folder) / name)
        sync(Path(folder))


def file_facts(directory: Path, path: str) -> FileFacts:
    """Return size and hash of one file."""
    return FileFacts(path, (directory / path).stat().st_size, sha256_of(pieces(directory / path)))


def sha256_of(stream: Iterable[bytes]) -> str:
    """Return the SHA-256 of pieces of bytes, in hex."""
    digest = hashlib.sha256()
    for piece in stream:
        digest.update(piece)
    return digest.hexdigest()


def pieces(path: Path) -> Iterator[bytes]:
    """Yield the bytes of a file, a mebibyte at a time."""
    with path.open("rb") as handle:
        while piece := handle.read(_CHUNK):
            yield piece


def content_type(path: str) -> str:
    """Return the media type of a release's file."""
    return _CONTENT_TYPES.get(Path(path).suffix, "application/octet-stream")


def verify(directory: Path, manifest_sha256: str | None = None) -> tuple[list[FileFacts], str]:
    """Return the files of a complete directory and the SHA-256 of its MANIFEST.

    Raise :class:`~publishing.errors.BrokenDirectory` if MANIFEST is missing, unreadable or not the one with
    ``manifest_sha256``, or if some file is not as it says.
    """
    expected = read_manifest(directory)
    for path, problem in manifest_differences(directory, expected):
        if problem == EMPTY:
            continue  # it changes no file, and a volume may have one
        raise BrokenDirectory(f"{directory}: {path} {problem}")
    found = file_facts(directory, MANIFEST).sha256
    if manifest_sha256 not in (None, found):
        raise BrokenDirectory(f"{directory}: MANIFEST is not the one that was published.")
    sizes = {path: (directory / path).stat().st_size for path in sorted(expected)}
    return [FileFacts(path, size, expected[path]) for path, size in sizes.items()], found


EMPTY = "is an empty directory. A release contains only files."


def manifest_differences(
    directory: Path, expected: Mapping[str, str], *, besides: Collection[str] = ()
) -> Iterator[tuple[str, str]]:
    """Yield the path of everything that is not as MANIFEST says, and what is wrong with it ("is a link …").

    ``expected`` has the SHA-256 of each file; ``besides`` names what may be in the directory, too; the name
    of a folder ends with a slash. Links are not followed.
    """
    present = set()
    for path, problem in _walked(directory, besides):
        if problem:
            yield path, problem
        else:
            present.add(path)
    for path in sorted(present - expected.keys() - {MANIFEST}):
        yield path, "is here, but MANIFEST does not list it."
    for path in sorted(expected.keys() - present):
        yield path, "is not here, but MANIFEST lists it."
    for path in sorted(expected.keys() & present):
        if file_facts(directory, path).sha256 != expected[path]:
            yield path, "does not have the SHA-256 in MANIFEST."


def _walked(directory: Path, besides: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield the path of every plain file with an empty text, and of everything else with the problem."""
    for folder, folders, names in os.walk(directory):
        inside = Path(folder).relative_to(directory)
        if not (folders or names):
            yield inside.as_posix(), EMPTY
        if Path(folder) == directory:
            folders[:] = [name for name in folders if f"{name}/" not in besides]
            names = [name for name in names if name not in besides]
        for name in sorted((*folders, *names)):
            place, path = Path(folder) / name, (inside / name).as_posix()
            if place.is_symlink():
                yield path, "is a link. A release contains only plain files."
            elif place.is_file():
                yield path, ""
            elif not place.is_dir():
                yield path, "is neither a file nor a directory."


def read_manifest(directory: Path) -> dict[str, str]:
    """Return the SHA-256 of every listed file. Raise :class:`~publishing.errors.BrokenDirectory`."""
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


def check_free(target: Path) -> None:
    """Raise :class:`~publishing.errors.PlaceTaken` unless ``target`` is absent or an empty directory."""
    if target.is_symlink() or (target.exists() and (not target.is_dir() or any(target.iterdir()))):
        raise PlaceTaken(f"{target} exists and is not an empty directory. Name another one.")


def copy_release(source: Path, target: Path) -> None:
    """Copy a release directory, verify the copy against its MANIFEST, and move it to ``target``.

    Creates missing parents. Raise :class:`~publishing.errors.PlaceTaken`,
    :class:`~publishing.errors.BrokenDirectory` if the source has changed, or ``OSError``.
    """
    check_free(target)
    with hidden_beside(target) as hidden:
        shutil.copytree(source, hidden)
        verify(hidden)
        sync_all(hidden)
        hidden.rename(target)
    sync(target.parent)


@contextmanager
def hidden_beside(target: Path, prefix: str = "") -> Iterator[Path]:
    """Name a hidden directory beside ``target``, to be filled and moved there; what is left of it is removed.

    Creates missing parents.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    hidden = target.with_name(f"{prefix or f'.{target.name}.'}{secrets.token_hex(4)}")
    try:
        yield hidden
    finally:
        shutil.rmtree(hidden, ignore_errors=True)
