"""Tar and zip archives of a release, made as streams. The same files give the same bytes.

Nothing is compressed, so a download costs no more than reading the files. Owners, times and modes are
left out. Both functions raise ``OSError`` when they come to a file that cannot be read.
"""

import io
import tarfile
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from publishing.files.directory import pieces

_BEGINNING = (1980, 1, 1, 0, 0, 0)


def tar_of(directory: Path, paths: Iterable[str], name: str) -> Iterator[bytes]:
    """Yield a tar archive of these files of the directory under ``name/``."""
    for path in sorted(paths):
        entry = tarfile.TarInfo(f"{name}/{path}")
        entry.size = (directory / path).stat().st_size
        yield entry.tobuf(tarfile.PAX_FORMAT)
        yield from pieces(directory / path)
        yield b"\0" * (-entry.size % tarfile.BLOCKSIZE)
    yield b"\0" * (2 * tarfile.BLOCKSIZE)


class _Buffer(io.RawIOBase):
    """A file to write to, without ``seek``, so that ``zipfile`` writes the archive as a stream."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    def write(self, data: Any) -> int:
        self._pieces.append(bytes(data))
        return len(data)

    def take(self) -> bytes:
        """Return the bytes written since the last call."""
        taken = b"".join(self._pieces)
        self._pieces.clear()
        return taken


def zip_of(directory: Path, paths: Iterable[str], name: str) -> Iterator[bytes]:
    """Yield a zip archive of these files of the directory under ``name/``."""
    buffer = _Buffer()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for path in sorted(paths):
            entry = zipfile.ZipInfo(f"{name}/{path}", _BEGINNING)
            entry.external_attr = 0o644 << 16
            with archive.open(entry, "w", force_zip64=True) as target:
                for piece in pieces(directory / path):
                    target.write(piece)
                    yield buffer.take()
    yield buffer.take()
