"""A backup of a study with votes and a release, restored elsewhere: everything works there as it did here."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as site
from django.core.files.base import ContentFile
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import OperationalError, connection
from django.test import Client
from django.utils import timezone

from accounts.errors import DomainError
from annotation.actions import queue_import
from annotation.models import Enrollment, Study
from operations import actions as backup
from publishing.files.directory import verify
from publishing.models import Release
from recruitment.links import personal_path
from tests import builders
from tests.conftest import database_url
from tests.publishing.support import judged_study, published, random_forms
from tests.upgrades.archive import database
from tests.worlds import built_once
from tomannot.embedded.postgres import binaries

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(180)]


@pytest.fixture(autouse=True)
def own_roots(settings: Any, tmp_path: Path) -> None:
    settings.RELEASES_ROOT, settings.MEDIA_ROOT = tmp_path / "releases", tmp_path / "media"


@built_once
def kept_study() -> tuple[Study, Release]:
    study = judged_study("kept", random_forms(seed=3, stories=4))
    return study, published(study)


@pytest.fixture
def study() -> Study:
    return kept_study()[0]


@pytest.fixture
def release(study: Study) -> Release:
    return Release.objects.get(study=study)


@contextmanager
def elsewhere(settings: Any, place: Path) -> Iterator[None]:
    """Work in an installation with an empty database and no file."""
    with database(f"{connection.settings_dict['NAME']}_restored"):
        settings.RELEASES_ROOT, settings.MEDIA_ROOT = place / "releases", place / "media"
        yield


def manage(environment: dict[str, str], *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "manage.py", *map(str, arguments)],
        cwd=site.BASE_DIR, env=environment, capture_output=True, text=True, timeout=90, check=False,
    )  # fmt: skip


def test_what_was_backed_up_works_elsewhere(
    study: Study,
    release: Release,
    child_environment: dict[str, str],
    client: Client,
    settings: Any,
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
    upload = Path(waiting.file.path).read_bytes()
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

    with elsewhere(settings, tmp_path / "new"):
        done = manage(child_environment | where_we_are(), "restore", place)
        assert done.returncode == 0, done.stderr
        there = tmp_path / "new" / "releases" / "kept" / "1"
        assert done.stdout.splitlines() == [f"ok {there}"]
        assert "WARNING" not in done.stderr
        assert Enrollment.objects.count() == before
        assert verify(there)[1] == release.manifest_sha256
        assert (tmp_path / "new" / "media" / str(waiting.file.name)).read_bytes() == upload
        call_command("check_integrity")
        begin = client.post(personal_path(person))
        page = client.get(begin["Location"], follow=True)
        assert "We store your answers." in page.content.decode()
        dataset = client.get("/releases/kept/1/files/MANIFEST").getvalue()
        assert sha256(dataset).hexdigest() == release.manifest_sha256
        with pytest.raises(CommandError, match="is not empty: it has the table"):
            call_command("restore", str(place))


def where_we_are() -> dict[str, str]:
    """The environment of another process of this installation."""
    return {
        "DATABASE_URL": database_url(),
        "RELEASES_ROOT": str(site.RELEASES_ROOT),
        "MEDIA_ROOT": str(site.MEDIA_ROOT),
    }


def invite_and_close(study: Study) -> None:
    try:
        builders.invite(study)
    finally:
        connection.close()


def test_a_restore_that_was_cut_short_can_be_repeated(
    release: Release, settings: Any, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    place = tmp_path / "backup"
    call_command("backup", str(place))
    dump = place / "database.dump"
    whole = dump.read_bytes()
    with elsewhere(settings, tmp_path / "new"):
        dump.write_bytes(whole[: len(whole) // 2])
        with pytest.raises(CommandError, match=r"database\.dump does not have the SHA-256 in MANIFEST"):
            call_command("restore", str(place))
        assert not (tmp_path / "new" / "releases").exists()

        manifest = (place / "MANIFEST").read_text()  # as if the disk had lied: pg_restore itself fails
        broken = manifest.replace(sha256(whole).hexdigest(), sha256(dump.read_bytes()).hexdigest())
        (place / "MANIFEST").write_text(broken)
        with pytest.raises(CommandError, match="pg_restore failed"):
            call_command("restore", str(place))

        dump.write_bytes(whole)
        (place / "MANIFEST").write_text(manifest)
        settings.SECRET_KEY = "another-" + "x" * 50
        call_command("restore", str(place))
        warning = "no link works until SECRET_KEY_FALLBACKS has the SECRET_KEY from before"
        assert warning in capsys.readouterr().err
        assert verify(tmp_path / "new" / "releases" / "kept" / "1")[1] == release.manifest_sha256
        assert Release.objects.count() == 1


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


def test_a_database_that_goes_away_leaves_no_half_a_backup(
    release: Release, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def go_away(*_args: Any, **_named: Any) -> None:
        raise OperationalError("server closed the connection unexpectedly")

    monkeypatch.setattr(backup, "_copy_releases", go_away)
    with pytest.raises(CommandError, match="server closed the connection"):
        call_command("backup", str(tmp_path / "backups" / "new"))
    assert list((tmp_path / "backups").iterdir()) == []


@pytest.mark.torture  # each waits ten seconds for the database
@pytest.mark.parametrize("arguments", [("backup", "new"), ("restore", "absent")])
def test_what_cannot_be_done_is_said_in_a_line(
    child_environment: dict[str, str], arguments: tuple[str, str], tmp_path: Path
) -> None:
    away = child_environment | {"DATABASE_URL": "postgresql://nobody@127.0.0.1:1/absent"}
    done = manage(away, arguments[0], tmp_path / arguments[1])
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("CommandError: ")
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []
