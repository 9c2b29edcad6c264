"""A copy of a published release at a place of somebody's choice, whole or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
from pathlib import Path

from publishing.errors import PlaceTaken
from publishing.files import directory


def check_free(target: Path) -> None:
    """Raises :class:`~publishing.errors.PlaceTaken` unless ``target`` is absent or an empty directory."""
    if target.is_symlink() or (target.exists() and (not target.is_dir() or any(target.iterdir()))):
        raise PlaceTaken(f"{target} is there already and is not an empty directory. Name another one.")


def copy_release(source: Path, target: Path) -> None:
    """Copy a release directory, check the copy against its MANIFEST, and move it to ``target``.

    Missing parents are made. Raises :class:`~publishing.errors.PlaceTaken`,
    :class:`~publishing.errors.BrokenDirectory` when the source is not what it was, and ``OSError``.
    """
    check_free(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    hidden = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        shutil.copytree(source, hidden)
        directory.verify(hidden)
        for folder, _, names in os.walk(hidden):
            for name in names:
                _sync_file(Path(folder) / name)
            directory.sync_directory(Path(folder))
        hidden.rename(target)
    except BaseException:
        shutil.rmtree(hidden, ignore_errors=True)
        raise
    directory.sync_directory(target.parent)


def _sync_file(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
