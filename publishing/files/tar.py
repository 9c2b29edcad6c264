"""Files of a directory as a stream of tar bytes, the same for the same files."""

from __future__ import annotations

import tarfile
from collections.abc import Iterable, Iterator
from pathlib import Path

_PIECE = 1 << 20


def tar_of(directory: Path, paths: Iterable[str], name: str) -> Iterator[bytes]:
    """An uncompressed tar of these files of the directory under ``name/``, piece by piece.

    Owners, times and modes are left out, so equal files give equal bytes. Raises ``OSError`` when it
    comes to a file that cannot be read.
    """
    for path in sorted(paths):
        entry = tarfile.TarInfo(f"{name}/{path}")
        entry.size = (directory / path).stat().st_size
        yield entry.tobuf(tarfile.PAX_FORMAT)
        with (directory / path).open("rb") as handle:
            while piece := handle.read(_PIECE):
                yield piece
        yield b"\0" * (-entry.size % tarfile.BLOCKSIZE)
    yield b"\0" * (2 * tarfile.BLOCKSIZE)
