"""Places of releases and comparisons: on this disk and, with ``STORAGE_URL``, in a store all machines share.

Without it, web and workers share ``RELEASES_ROOT`` itself. With it, ``RELEASES_ROOT`` holds this machine's
copies, and the store has one archive per directory: one object, which appears whole or not at all. A release
is in the store before the database calls it published, under a name with the hash of its MANIFEST. So nothing
is ever overwritten there, and nobody reads what a killed build left. The build after a killed one begins
again: it writes the same bytes, so it finds its archive and its directory in place and uses them.
"""

import errno
import shutil
import tarfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile

from botocore.exceptions import BotoCoreError, ClientError
from django.conf import settings
from django.core.files import File
from django.core.files.storage import default_storage
from s3transfer.exceptions import RetriesExceededError, S3DownloadFailedError

from publishing.errors import BrokenDirectory
from publishing.files.archives import tar_of
from publishing.files.directory import sync_all, verify

FAILURES = (BotoCoreError, ClientError, RetriesExceededError, S3DownloadFailedError)
"""Errors of boto3 if the store does not answer, refuses, or breaks off."""
_UNFINISHED = ".fetching-"
_LONGEST_FETCH = 3600.0
"""Seconds without a new file after which an unfinished copy counts as abandoned."""
_PASSING = {408, 409, 429, "BadDigest", "RequestTimeout"}
"""Statuses from 400 to 499, and S3's codes with such a status, that may pass by themselves."""


class StoreUnavailable(OSError):
    """The shared store does not give or take an archive. Trying again may help."""


class StoreRefused(StoreUnavailable):
    """The store refuses until people change its address, its rights or its bucket."""


class DamagedArchive(OSError):
    """The store has an archive, but not as it was published. People must restore it."""


def place_of(slug: str, number: int, manifest_sha256: str) -> Path:
    """Return the directory of a release on this machine; ``manifest_sha256`` is empty until it is built."""
    name = f"{number}-{manifest_sha256[:16]}" if settings.STORAGE_URL and manifest_sha256 else str(number)
    return Path(settings.RELEASES_ROOT) / slug / name


def install(made: Path, place: Path) -> None:
    """Put a finished directory into the shared store, if there is one, and move it to its place here.

    Raise ``OSError``, which is ``StoreUnavailable`` if the store does not take it.
    """
    put(made, place)
    if settings.STORAGE_URL and place.exists():
        shutil.rmtree(made)
    else:
        made.rename(place)


def put(made: Path, place: Path) -> None:
    """Put a directory into the shared store, if there is one that lacks it. Raise ``StoreUnavailable``."""
    with _store_errors(place):
        if not settings.STORAGE_URL or default_storage.exists(_key(place)):
            return
        paths = [str(path.relative_to(made)) for path in made.rglob("*") if path.is_file()]
        with TemporaryFile(dir=made.parent) as file:
            file.writelines(tar_of(made, paths, "."))
            default_storage.save(_key(place), File(file))


def fetch(place: Path, manifest_sha256: str = "") -> Path:
    """Return ``place``, after fetching it from the shared store if this machine lacks it.

    Raise ``OSError``: ``StoreUnavailable``, or ``DamagedArchive`` if the store's is not what was published.
    """
    if not settings.STORAGE_URL or place.exists():
        return place
    with _store_errors(place):
        if not default_storage.exists(_key(place)):
            return place
    with _store_errors(place), default_storage.open(_key(place)) as file:
        place.parent.mkdir(parents=True, exist_ok=True)
        remove_leftovers(place.parent, _UNFINISHED, after=_LONGEST_FETCH)
        with TemporaryDirectory(dir=place.parent, prefix=_UNFINISHED) as hidden:
            copy = Path(hidden) / place.name
            with tarfile.open(fileobj=file, mode="r|") as archive:
                for member in archive:
                    archive.extract(member, copy, filter="data")
                    Path(hidden).touch()
            if manifest_sha256:
                verify(copy, manifest_sha256)
            sync_all(copy)
            try:
                copy.rename(place)
            except OSError:
                if not place.exists():  # else another process was faster
                    raise
    return place


def remove_leftovers(place: Path, prefix: str, *, after: float = 24 * 3600) -> None:
    """Remove what killed processes left: it begins with ``prefix`` and is unchanged for ``after`` seconds."""
    for left in place.glob(f"{prefix}*"):
        with suppress(FileNotFoundError):  # of a process that was not killed, and is done by now
            if time.time() - left.stat().st_mtime > after:
                shutil.rmtree(left, ignore_errors=True)


@contextmanager
def _store_errors(place: Path) -> Iterator[None]:
    try:
        yield
    except (tarfile.TarError, BrokenDirectory) as error:
        raise DamagedArchive(errno.EBADMSG, f"In the shared store: {error}", _key(place)) from error
    except FAILURES as error:
        answer = error.response if isinstance(error, ClientError) else {}
        status = answer.get("ResponseMetadata", {}).get("HTTPStatusCode", 500)
        lasts = 400 <= status < 500 and not _PASSING & {status, answer["Error"].get("Code")}
        kind = StoreRefused if lasts else StoreUnavailable
        raise kind(errno.EIO, f"The shared store: {error}", _key(place)) from error


def _key(place: Path) -> str:
    return f"releases/{place.relative_to(settings.RELEASES_ROOT).as_posix()}.tar"
