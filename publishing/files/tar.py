"""A directory as a stream of tar bytes, the same for the same files."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from pathlib import Path

_PIECE = 1 << 20


def tar_of(directory: Path, name: str) -> Iterator[bytes]:
    """An uncompressed tar of the directory's files under ``name/``, piece by piece.

    Owners, times and modes are left out, so equal files give equal bytes.
    """
    for path in sorted(path for path in directory.rglob("*") if path.is_file()):
        entry = tarfile.TarInfo(f"{name}/{path.relative_to(directory).as_posix()}")
        entry.size = path.stat().st_size
        yield entry.tobuf(tarfile.PAX_FORMAT)
        with path.open("rb") as handle:
            while piece := handle.read(_PIECE):
                yield piece
        yield b"\0" * (-entry.size % tarfile.BLOCKSIZE)
    yield b"\0" * (2 * tarfile.BLOCKSIZE)
