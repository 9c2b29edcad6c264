"""A backup of a study with votes and a release, restored elsewhere: everything works there as it did here."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from typing import Any

import psycopg
import pytest
import urllib3
from django.conf import settings as site
from django.core.files.base import ContentFile
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection
from django.utils import timezone

from accounts.errors import DomainError
from annotation.actions import queue_import
from annotation.models import Enrollment, Study
from operations import actions as backup
from publishing.files.directory import verify
from publishing.models import Release
from recruitment.links import personal_path
from tests import builders
from tests.integration.servers import running
from tests.publishing.support import judged_study, published, random_forms
from tomannot.embedded.postgres import binaries

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(180)]


@pytest.fixture(autouse=True)
def own_roots(settings: Any, tmp_path: Path) -> None:
    settings.RELEASES_ROOT, settings.MEDIA_ROOT = tmp_path / "releases", tmp_path / "media"


@pytest.fixture
def study() -> Study:
    return judged_study("kept", random_forms(seed=3, stories=12))


@pytest.fixture
def release(study: Study) -> Release:
    return published(study)


@pytest.fixture
def elsewhere(child_environment: dict[str, str], tmp_path: Path) -> Iterator[dict[str, str]]:
    """The environment of an installation with an empty database and no file."""
    name = f"{connection.settings_dict['NAME']}_restored"
    with connection._nodb_cursor() as cursor:
        cursor.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
        cursor.execute(f'CREATE DATABASE "{name}" TEMPLATE template0')
    here = connection.settings_dict["NAME"]
    yield child_environment | {
        "DATABASE_URL": child_environment["DATABASE_URL"].replace(f"/{here}", f"/{name}"),
        "RELEASES_ROOT": str(tmp_path / "new" / "releases"),
        "MEDIA_ROOT": str(tmp_path / "new" / "media"),
    }
    with connection._nodb_cursor() as cursor:
        cursor.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


def manage(environment: dict[str, str], *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "manage.py", *map(str, arguments)],
        cwd=site.BASE_DIR, env=environment, capture_output=True, text=True, timeout=90, check=False,
    )  # fmt: skip


def test_what_was_backed_up_works_elsewhere(
    study: Study,
    release: Release,
    elsewhere: dict[str, str],
    static_root: Path,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """It is of one moment: what is committed while it is being written is left out."""
    (person,) = builders.invite(study)
    waiting = queue_import(
        study=study,
        file=ContentFile(json.dumps(builders.story_row(99)).encode(), "more.jsonl"),
        by=None,
        now=timezone.now(),
    )
    before = Enrollment.objects.count()
    dump = backup._dump

    def invite_and_dump(*args: Any, **named: Any) -> None:
        with ThreadPoolExecutor(1) as pool:  # on a connection of its own
            pool.submit(invite_and_close, study).result()
        dump(*args, **named)

    monkeypatch.setattr(backup, "_dump", invite_and_dump)
    place = tmp_path / "backup"
    call_command("backup", str(place))
    assert Enrollment.objects.count() == before + 1
    assert {path.name for path in place.iterdir()} == {
        "MANIFEST", "backup.json", "database.dump", "media", "releases"
    }  # fmt: skip
    assert place.stat().st_mode & 0o077 == 0
    assert site.SECRET_KEY.encode() not in b"".join(
        path.read_bytes() for path in place.rglob("*") if path.is_file()
    )

    done = manage(elsewhere, "restore", place)
    assert done.returncode == 0, done.stderr
    restored = Path(elsewhere["RELEASES_ROOT"]) / "kept" / "1"
    assert done.stdout.splitlines() == [f"ok {restored}"]
    assert "WARNING" not in done.stderr
    with psycopg.connect(elsewhere["DATABASE_URL"]) as there:
        assert there.execute("SELECT count(*) FROM annotation_enrollment").fetchone() == (before,)
    assert verify(restored)[1] == release.manifest_sha256
    upload = Path(elsewhere["MEDIA_ROOT"]) / str(waiting.file.name)
    assert upload.read_bytes() == Path(waiting.file.path).read_bytes()
    integrity = manage(elsewhere, "check_integrity")
    assert integrity.returncode == 0, integrity.stdout
    with running(elsewhere, tmp_path / "logs", with_worker=False) as address:
        begin = urllib3.request("POST", address + personal_path(person), redirect=False)
        page = urllib3.request("GET", address + begin.headers["Location"])
        assert "We store your answers." in page.data.decode()
        dataset = urllib3.request("GET", f"{address}/releases/kept/1/files/MANIFEST")
        assert sha256(dataset.data).hexdigest() == release.manifest_sha256

    again = manage(elsewhere, "restore", place)
    assert again.returncode == 1
    assert "is not empty: it has the table" in again.stderr


def invite_and_close(study: Study) -> None:
    try:
        builders.invite(study)
    finally:
        connection.close()


def test_a_restore_that_was_cut_short_can_be_repeated(
    release: Release,
    elsewhere: dict[str, str],
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    place = tmp_path / "backup"
    call_command("backup", str(place))
    dump = place / "database.dump"
    whole = dump.read_bytes()
    dump.write_bytes(whole[: len(whole) // 2])
    settings.RELEASES_ROOT = elsewhere["RELEASES_ROOT"]
    with monkeypatch.context() as emptied:
        emptied.setattr(connection.introspection, "table_names", list)
        with pytest.raises(CommandError, match=r"database\.dump does not have the SHA-256 in MANIFEST"):
            call_command("restore", str(place))
    assert not Path(elsewhere["RELEASES_ROOT"]).exists()

    manifest = (place / "MANIFEST").read_text()  # as if the disk had lied: pg_restore itself fails
    broken = manifest.replace(sha256(whole).hexdigest(), sha256(dump.read_bytes()).hexdigest())
    (place / "MANIFEST").write_text(broken)
    done = manage(elsewhere, "restore", place)
    assert done.returncode == 1
    assert "pg_restore failed" in done.stderr

    dump.write_bytes(whole)
    (place / "MANIFEST").write_text(manifest)
    done = manage(elsewhere | {"SECRET_KEY": "another-" + "x" * 50}, "restore", place)
    assert done.returncode == 0
    assert "no link works until SECRET_KEY_FALLBACKS has the SECRET_KEY from before" in done.stderr
    release_there = Path(elsewhere["RELEASES_ROOT"]) / "kept" / "1"
    assert verify(release_there)[1] == release.manifest_sha256


def test_another_version_and_another_release_in_the_way_are_refused(
    release: Release, settings: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    call_command("backup", str(tmp_path / "backup"))
    settings.RELEASES_ROOT = tmp_path / "new"
    in_the_way = tmp_path / "new" / "kept" / "1"
    in_the_way.mkdir(parents=True)
    (in_the_way / "MANIFEST").write_text("another\n")
    with monkeypatch.context() as emptied:
        emptied.setattr(connection.introspection, "table_names", list)
        with pytest.raises(CommandError, match="exists already, and is another release"):
            call_command("restore", str(tmp_path / "backup"))
    assert (in_the_way / "MANIFEST").read_text() == "another\n"

    version = backup.code_version().partition("+")[0]
    monkeypatch.setattr(backup, "code_version", lambda: "9.9+abc")
    with pytest.raises(CommandError, match=rf"is of tomannot {re.escape(version)}, and this is 9\.9"):
        call_command("restore", str(tmp_path / "backup"))


def test_a_damaged_release_is_named_and_left_out(study: Study, release: Release, tmp_path: Path) -> None:
    second = published(study)
    (release.directory / "README.md").write_text("changed")
    with pytest.raises(CommandError, match=r"README\.md does not have the SHA-256 in MANIFEST"):
        call_command("backup", str(tmp_path / "backup"))
    assert [path.name for path in (tmp_path / "backup" / "releases" / "kept").iterdir()] == ["2"]
    assert verify(tmp_path / "backup")
    assert verify(tmp_path / "backup" / "releases" / "kept" / "2")[1] == second.manifest_sha256


@pytest.mark.parametrize("name", ["pg_dump", "pg_restore"])
def test_programs_older_than_the_server_are_not_used(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    old = tmp_path / name
    old.write_text(f"#!/bin/sh\necho '{name} (PostgreSQL) 12.3'\n")
    old.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    assert backup._program(name) == str(binaries() / name)
    monkeypatch.setattr("operations.actions.binaries", lambda: tmp_path)
    with pytest.raises(DomainError, match=rf"There is no {name} of version \d+ or newer"):
        backup._program(name)


@pytest.mark.parametrize(
    "arguments", [("backup", "new"), pytest.param(("restore", "absent"), marks=pytest.mark.torture)]
)
def test_what_cannot_be_done_is_said_in_a_line(
    child_environment: dict[str, str], arguments: tuple[str, str], tmp_path: Path
) -> None:
    away = child_environment | {"DATABASE_URL": "postgresql://nobody@127.0.0.1:1/absent"}
    done = manage(away, arguments[0], tmp_path / arguments[1])
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("CommandError: ")
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []
