"""A migrated PostgreSQL cluster, kept between test runs, for programs that start servers of their own."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from django.conf import settings

from operations.actions import _access
from tests.kept import KEPT, one_at_a_time, template_database
from tests.plugin import state_directory
from tomannot.embedded import system
from tomannot.embedded.postgres import DATABASE, ROLE, Postgres, binaries

if TYPE_CHECKING:
    from pytest_django import DjangoDbBlocker


def put_cluster(var: Path, blocker: DjangoDbBlocker) -> None:
    """Give a new state directory the cluster of a server that migrated its database and was stopped.

    Making a cluster and migrating it is a quarter of a minute of work. Where the tests are given a database,
    nothing is put there, and the programs make a cluster themselves.
    """
    if "TEMPLATE" not in settings.DATABASES["default"]["TEST"]:
        return
    with blocker.unblock():
        template = template_database(state_directory())
        kept = state_directory() / "clusters" / template
        with one_at_a_time(state_directory() / "clusters.lock"):
            if not kept.is_dir():
                _make(kept, template)
    system.let_pass(var / "postgres", system.server_account(), lambda _line: None)
    subprocess.run(["cp", "-a", str(kept / "postgres"), str(var)], check=True)


def _make(kept: Path, template: str) -> None:
    """Copy the migrated database of the tests' server into a cluster of its own; keep the newest ones."""
    unfinished = kept.with_suffix(".unfinished")
    server = Postgres(unfinished, account=system.server_account(), progress=lambda _line: None)
    server.stop()  # that of a run that was cut short
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    dump = [str(binaries() / "pg_dump"), "--format=custom", template]
    restore = [str(binaries() / "pg_restore"), "--exit-on-error", "--host", str(server.socket_directory)]
    restore += ["--username", ROLE, "--dbname", DATABASE]
    try:
        server.provide(fsync=False)
        with subprocess.Popen(dump, stdout=subprocess.PIPE, env=_access()) as dumping:
            subprocess.run(restore, stdin=dumping.stdout, check=True)
        assert dumping.returncode == 0
    finally:
        server.stop()
    unfinished.rename(kept)
    oldest_first = sorted(kept.parent.iterdir(), key=lambda directory: directory.stat().st_mtime)
    for directory in oldest_first[:-KEPT]:
        shutil.rmtree(directory)
