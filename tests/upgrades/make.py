"""Write what an installation of this version keeps into ``tests/upgrades/VERSION.tar.xz``.

``python -m tests.upgrades.make`` starts servers of its own, migrates, lets made-up people use every part
(through actions only), and packs the database as plain SQL with the directories of its releases. Run it once
per released version and keep the archive: the tests of later versions restore it and upgrade. It says which
tables are empty.
"""

from __future__ import annotations

import atexit
import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from pathlib import Path

from tomannot import embedded

HERE = Path(__file__).parent
DUMP = "database.sql"
SECRET_KEY = "of-no-installation-" + "x" * 40
"""Pseudonyms and links of the made-up people follow from it."""
NOT_KEPT = ("django_session", "axes_*", "django_admin_log", "mfa_*", "socialaccount_*")
"""Tables of sessions, attempts to sign in, and second factors: other packages' rows, or short-lived."""


def main() -> None:
    place = Path(tempfile.mkdtemp(prefix="tomannot-old-"))
    place.chmod(0o755)
    atexit.register(shutil.rmtree, place, ignore_errors=True)  # after that of the servers
    os.environ |= {
        "DJANGO_SETTINGS_MODULE": "tomannot.settings",
        "TOMANNOT_VAR": str(place / "var"),
        "RELEASES_ROOT": str(place / "releases"),
        "MEDIA_ROOT": str(place / "media"),
        "STATIC_ROOT": str(place / "static"),
        "SECRET_KEY": SECRET_KEY,
        "EMAIL_URL": "memorymail://",
        "PUBLIC_URL": "http://testserver",
    }
    for server in ("DATABASE_URL", "REDIS_URL"):
        os.environ.pop(server, None)
    embedded.provide(place / "var", fsync=False, progress=lambda _line: None)
    fill()
    target = HERE / f"{version()}.tar.xz"
    pack(target, dump(), place / "releases")
    sys.stdout.write(f"{target}: {target.stat().st_size} bytes\n")


def version() -> str:
    project = tomllib.loads((HERE.parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
    return ".".join(project["project"]["version"].split(".")[:2])


def fill() -> None:
    """Migrate and make rows of every kind."""
    import django

    django.setup()
    from django.core.management import call_command
    from django.db import connection

    from tests.kept import OF_MIGRATE, filled_tables
    from tests.upgrades.world import make_old_world

    call_command("migrate", verbosity=0)
    make_old_world()
    call_command("check_integrity", stdout=sys.stderr)
    empty = set(connection.introspection.django_table_names()) - {*filled_tables(), *OF_MIGRATE}
    sys.stdout.write("".join(f"empty: {table}\n" for table in sorted(empty)))


def dump() -> bytes:
    """Return the database as SQL that any client can execute."""
    from django.db import connection

    from operations.actions import _access, _program

    command = [_program("pg_dump"), "--no-owner", "--no-privileges", "--rows-per-insert=100"]
    command += [f"--exclude-table-data={table}" for table in NOT_KEPT]
    database = str(connection.settings_dict["NAME"])
    said = subprocess.run([*command, database], env=_access(), check=True, capture_output=True).stdout
    lines = said.splitlines(keepends=True)
    return b"".join(line for line in lines if not line.startswith((b"--", b"\\")))  # psql's own commands


def pack(target: Path, sql: bytes, releases: Path) -> None:
    """Write the archive: times and owners of this machine are left out."""

    def plain(found: tarfile.TarInfo) -> tarfile.TarInfo:
        found.mtime = found.uid = found.gid = 0
        found.uname = found.gname = ""
        return found

    with tarfile.open(target, "w:xz", preset=9) as archive:
        about = tarfile.TarInfo(DUMP)
        about.size = len(sql)
        archive.addfile(about, io.BytesIO(sql))
        archive.add(releases, "releases", filter=plain)


if __name__ == "__main__":
    main()
