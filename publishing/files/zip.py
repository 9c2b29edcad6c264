"""Files of a directory as a stream of zip bytes, the same for the same files."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

_PIECE = 1 << 20
_BEGINNING = (1980, 1, 1, 0, 0, 0)


class _Pipe:
    """What has been written since it was last taken. Cannot seek, so the archive is made as a stream."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    def write(self, data: bytes) -> int:
        self._pieces.append(bytes(data))
        return len(data)

    def flush(self) -> None:
        """Nothing waits anywhere else."""

    def close(self) -> None:
        """Nothing is open."""

    def take(self) -> bytes:
        taken = b"".join(self._pieces)
        self._pieces.clear()
        return taken


def zip_of(directory: Path, paths: Iterable[str], name: str) -> Iterator[bytes]:
    """These files of the directory under ``name/`` as a zip archive, piece by piece, of any size.

    Raises ``OSError`` when it comes to one that cannot be read.
    Not compressed, so that anybody may ask for it at no cost but reading. Times and modes are left
    out, so equal files give equal bytes.
    """
    pipe = _Pipe()
    with zipfile.ZipFile(pipe, "w", zipfile.ZIP_STORED) as archive:
        for path in sorted(paths):
            entry = zipfile.ZipInfo(f"{name}/{path}", _BEGINNING)
            entry.external_attr = 0o644 << 16
            with (
                (directory / path).open("rb") as source,
                archive.open(entry, "w", force_zip64=True) as target,
            ):
                while piece := source.read(_PIECE):
                    target.write(piece)
                    yield pipe.take()
    yield pipe.take()
