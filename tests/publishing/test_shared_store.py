"""Uploads and releases in a store that machines share: any machine has them, whole or not at all."""

from __future__ import annotations

import os
import shutil
import tarfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError, HTTPClientError
from django.core.cache import caches
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command
from django.db import connection, transaction
from django.test import Client, RequestFactory
from django.utils import timezone

from annotation import locks
from api.problems import server_error
from integrity.releases import published_release_is_unchanged
from operations import actions as operations, doctor
from publishing import store as places
from publishing.actions import releases
from publishing.comparison import store as comparisons
from publishing.errors import UnusableRelease
from publishing.files.directory import verify
from publishing.models import Release
from publishing.store import DamagedArchive, StoreRefused, StoreUnavailable
from tests.publishing.conftest import published_small, published_twice, small_study, take_away
from tests.publishing.destinations.faults import drop, method_is
from tests.publishing.destinations.store import Store
from tests.publishing.support import published

pytestmark = pytest.mark.django_db(transaction=True)

URL = "/releases/small/1/"


Machine = Callable[[str], Path]


@pytest.fixture
def release(machine: Machine, settings: Any) -> Release:
    """A release that the first machine has built and put into the store."""
    with built_here(settings):
        release = published_small()
    upload(release)
    return release


@pytest.fixture
def two_releases(machine: Machine, settings: Any) -> tuple[Release, Release]:
    with built_here(settings):
        releases = published_twice()
    for release in releases:
        upload(release)
    return releases


@contextmanager
def built_here(settings: Any) -> Iterator[None]:
    """Without the store, so that the same directories serve other tests."""
    shared, settings.STORAGE_URL = settings.STORAGE_URL, ""
    yield
    settings.STORAGE_URL = shared


def upload(release: Release) -> None:
    built = places.place_of("small", release.number, "")
    places.install(built, places.place_of("small", release.number, release.manifest_sha256))


def body(client: Client, url: str) -> tuple[int, bytes]:
    answer: Any = client.get(url)
    return answer.status_code, b"".join(answer) if answer.streaming else answer.content


def test_another_machine_serves_what_one_has_built(
    machine: Machine, release: Release, client: Client
) -> None:
    machine("second")
    assert client.get(URL).status_code == 200
    for file in release.files.filter(path__in=("README.md", "parquet/annotations/votes.parquet")):
        status, found = body(client, f"{URL}files/{file.path}")
        assert (status, len(found)) == (200, file.size)
    assert body(client, f"{URL}archive.tar")[0] == 200
    assert verify(release.directory)[1] == release.manifest_sha256
    assert published_release_is_unchanged.find(None).count == 0
    assert [path.name for path in release.directory.parent.iterdir()] == [release.directory.name]


def test_a_release_is_published_only_when_the_store_has_it(
    machine: Machine, store: Store, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The store breaks off during the upload: nobody sees a release, and the sweep finishes it later."""
    release = releases.request_release(study=small_study(), by=None, now=timezone.now())
    store.faults.before(method_is("PUT"), drop)
    with pytest.raises(StoreUnavailable):
        releases.build_release(release_id=release.pk, now=timezone.now())
    release.refresh_from_db()
    assert release.state == Release.State.BUILDING
    assert client.get(URL).status_code == 404
    assert not list(release.directory.parent.glob(".*")), "nothing half done stays here"
    assert releases.stalled_releases(now=timezone.now() + releases.STALLED_AFTER) == [release]

    machine("second")
    releases.build_release(release_id=release.pk, now=timezone.now())
    release.refresh_from_db()
    assert release.state == Release.State.PUBLISHED
    machine("third")
    assert verify(release.directory)[1] == release.manifest_sha256


def test_a_build_killed_after_the_upload_is_done_again(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = releases.request_release(study=small_study(), by=None, now=timezone.now())
    monkeypatch.setattr(releases, "_publish", lambda *_, **__: (_ for _ in ()).throw(SystemExit))
    with pytest.raises(SystemExit):
        releases.build_release(release_id=release.pk, now=timezone.now())
    monkeypatch.undo()
    machine("second")
    releases.build_release(release_id=release.pk, now=timezone.now())
    release.refresh_from_db()
    assert release.state == Release.State.PUBLISHED
    assert verify(release.directory)[1] == release.manifest_sha256


def test_what_a_failed_request_left_is_never_taken_for_the_next(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its archive and its copy here are of another hash, so neither is in the way nor read."""
    study = small_study()
    first = releases.request_release(study=study, by=None, now=timezone.now())
    monkeypatch.setattr(releases, "_publish", lambda *_, **__: (_ for _ in ()).throw(OSError("no")))
    releases.build_release(release_id=first.pk, now=timezone.now())
    monkeypatch.undo()
    left = list(places.place_of("small", 1, "").parent.iterdir())
    release = published(study)
    assert release.pk == first.pk
    assert release.directory not in left
    machine("second")
    assert verify(release.directory)[1] == release.manifest_sha256


def test_while_the_store_is_away_pages_say_so(
    machine: Machine, release: Release, store: Store, client: Client
) -> None:
    caches["default"].clear()  # cards are kept there
    machine("second")
    take_away(store)
    assert client.get(URL).status_code == 200
    for path in ("files/README.md", "archive.zip"):
        status, said = body(client, URL + path)
        assert (status, b"Temporarily unavailable" in said) == (503, True)
    with pytest.raises(StoreUnavailable):
        release.directory  # noqa: B018
    assert "PROBLEM" in [str(found.level) for found in doctor._storage()]
    store.faults.clear()
    assert body(client, f"{URL}files/README.md")[0] == 200
    assert "ok STORAGE_URL takes files" in [f"{found.level} {found.text}" for found in doctor._storage()]


def test_an_archive_of_another_release_is_never_served(
    machine: Machine, two_releases: tuple[Release, Release], store: Store, bucket: str, client: Client
) -> None:
    first, second = map(archive_of, two_releases)
    store.client.copy_object(Bucket=bucket, Key=first, CopySource={"Bucket": bucket, "Key": second})
    machine("second")
    assert body(client, f"{URL}files/README.md")[0] == 503
    assert not list(Path(places.place_of("small", 1, "")).parent.iterdir())


def test_a_copy_that_a_killed_process_left_is_removed_by_the_next_fetch(
    machine: Machine, release: Release
) -> None:
    machine("second")
    beside = places.place_of("small", 1, "").parent
    old, young = beside / ".fetching-old", beside / ".fetching-young"
    for copy in (old, young):
        copy.mkdir(parents=True)
    os.utime(old, (0, 0))
    assert release.directory.is_dir()
    assert (old.exists(), young.exists()) == (False, True)


def test_a_fetch_that_ends_while_another_begins_is_in_nobodys_way(
    machine: Machine, release: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine("second")
    ended = places.place_of("small", 1, "").with_name(".fetching-ended")
    monkeypatch.setattr(Path, "glob", lambda *_: iter([ended]))
    assert verify(release.directory)[1] == release.manifest_sha256


def test_a_long_fetch_stays_young_from_file_to_file(
    machine: Machine, release: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine("second")
    write, ages = tarfile.TarFile.makefile, list[float]()

    def slowly(archive: tarfile.TarFile, member: tarfile.TarInfo, path: str) -> None:
        write(archive, member, path)
        hidden = next(place for place in Path(path).parents if place.name.startswith(".fetching-"))
        ages.append(time.time() - hidden.stat().st_mtime)
        os.utime(hidden, (0, 0))

    monkeypatch.setattr(tarfile.TarFile, "makefile", slowly)
    assert verify(release.directory)[1] == release.manifest_sha256
    assert len(ages) > 3
    assert max(ages) < 60


def archive_of(release: Release) -> str:
    return f"site/{places._key(release.directory)}"


def shorten(store: Store, bucket: str, key: str) -> None:
    """Leave the first half of an object in the store."""
    whole = store.client.get_object(Bucket=bucket, Key=key)["Body"].read()
    store.client.put_object(Bucket=bucket, Key=key, Body=whole[: len(whole) // 2])


def test_a_download_that_breaks_off_is_tried_again_later(
    machine: Machine, release: Release, store: Store, client: Client
) -> None:
    """boto3 asks five times for a body that ends too early."""
    machine("second")
    store.cut_bodies = True
    with pytest.raises(StoreUnavailable, match="Max Retries"):
        release.directory  # noqa: B018
    assert body(client, f"{URL}files/README.md")[0] == 503
    store.cut_bodies = False
    assert body(client, f"{URL}files/README.md")[0] == 200


def test_a_truncated_archive_is_damaged(
    machine: Machine, release: Release, store: Store, bucket: str, client: Client
) -> None:
    """Trying again does not help: checks and backups name it, and the next release fails with a reason."""
    shorten(store, bucket, archive_of(release))
    machine("second")
    with pytest.raises(DamagedArchive):
        release.directory  # noqa: B018
    assert body(client, f"{URL}files/README.md")[0] == 503
    assert published_release_is_unchanged.find(None).rows == (str(release.pk),)
    again = releases.request_release(study=release.study, by=None, now=timezone.now())
    releases.build_release(release_id=again.pk, now=timezone.now())
    again.refresh_from_db()
    assert again.state == Release.State.FAILED
    assert "Put it back into the store" in again.failure


def test_a_store_that_is_away_is_never_taken_for_a_damaged_release(
    machine: Machine, two_releases: tuple[Release, Release], store: Store, tmp_path: Path
) -> None:
    machine("second")
    take_away(store)
    with pytest.raises(StoreUnavailable):
        published_release_is_unchanged.find(None)
    with pytest.raises(CommandError, match="Not all checks could run"):
        call_command("check_integrity", stdout=StringIO())
    with pytest.raises(StoreUnavailable):
        comparisons.compare(*two_releases)
    with pytest.raises(CommandError, match="The shared store"):
        call_command("backup", str(tmp_path / "backup"), stdout=StringIO(), stderr=StringIO())


def test_a_comparison_says_which_archive_is_damaged(
    machine: Machine, two_releases: tuple[Release, Release], store: Store, bucket: str
) -> None:
    first, second = two_releases
    shorten(store, bucket, archive_of(first))
    machine("second")
    with pytest.raises(UnusableRelease):
        comparisons.compare(first, second)


def test_two_processes_fetch_an_archive_at_once(
    machine: Machine, release: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other one is faster by the least: it has moved its copy there when this one wants to."""
    machine("second")
    rename = Path.rename

    def second_rename(copy: Path, place: Path) -> Path:
        shutil.copytree(copy, place)
        return rename(copy, place)

    monkeypatch.setattr(Path, "rename", second_rename)
    assert verify(release.directory)[1] == release.manifest_sha256
    assert [path.name for path in release.directory.parent.iterdir()] == [release.directory.name]


def test_a_copy_that_cannot_be_moved_is_an_error(
    machine: Machine, release: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine("second")
    monkeypatch.setattr(Path, "rename", lambda *_: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(OSError, match="full"):
        release.directory  # noqa: B018


def test_a_store_that_refuses_fails_the_release_with_the_reason(
    machine: Machine, store: Store, bucket: str
) -> None:
    release = releases.request_release(study=small_study(), by=None, now=timezone.now())
    store.client.delete_bucket(Bucket=bucket)
    releases.build_release(release_id=release.pk, now=timezone.now())
    release.refresh_from_db()
    assert release.state == Release.State.FAILED
    assert "NoSuchBucket" in release.failure
    assert "Check STORAGE_URL" in release.failure


@pytest.mark.parametrize(
    ("status", "code", "refuses"),
    [
        (403, "AccessDenied", True),
        (408, "Timeout", False),
        (400, "RequestTimeout", False),
        (503, "SlowDown", False),
    ],
)
def test_only_refusals_that_last_are_refusals(
    machine: Machine, status: int, code: str, refuses: bool
) -> None:
    answer: Any = {"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": status}}
    with pytest.raises(StoreUnavailable) as raised, places._store_errors(places.place_of("small", 1, "")):
        raise ClientError(answer, "PutObject")
    assert isinstance(raised.value, StoreRefused) == refuses


def test_a_comparison_made_by_a_worker_is_read_elsewhere(
    machine: Machine, two_releases: tuple[Release, Release], store: Store, bucket: str
) -> None:
    """Also one that this worker made before there was a store."""
    first, second = two_releases
    machine("worker")
    comparisons.compare(first, second)
    machine("web")
    found = comparisons.load(first, second)
    assert found is not None
    assert found.summary["same_verdict_other_votes"] == 0
    machine("worker")
    key = f"site/{places._key(comparisons.place_of(first, second))}"
    store.client.delete_object(Bucket=bucket, Key=key)
    comparisons.compare(first, second)
    machine("another web")
    assert comparisons.load(first, second) is not None


def test_a_backup_moves_an_installation_into_a_store(machine: Machine, settings: Any, tmp_path: Path) -> None:
    """Only the releases: tests/operations restores the rest."""
    shared, settings.STORAGE_URL = settings.STORAGE_URL, ""
    release = published_small()
    assert release.directory.name == "1"
    call_command("backup", str(tmp_path / "backup"), stdout=StringIO(), stderr=StringIO())

    settings.STORAGE_URL = shared
    for name in ("restoring", "other"):
        machine(name)
        if name == "restoring":
            manifest = next((tmp_path / "backup" / "releases").glob("*/*/MANIFEST"))
            restored = operations._restore_release(manifest.parent, tmp_path / "backup")
            assert restored == release.directory
        assert verify(release.directory)[1] == release.manifest_sha256


def test_through_a_pooler_no_lock_is_taken_that_another_session_would_hold(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Building needs a session; what a page does in its own transaction goes on."""
    release = releases.request_release(study=small_study(), by=None, now=timezone.now())
    monkeypatch.setitem(connection.settings_dict, "DISABLE_SERVER_SIDE_CURSORS", True)
    with pytest.raises(ImproperlyConfigured, match="not a pooler's"):
        releases.build_release(release_id=release.pk, now=timezone.now())
    with transaction.atomic(), locks.one_file(release.study_id), locks.alone(locks.IMPORT, 1) as ours:
        assert ours


@pytest.mark.parametrize(
    "error", [StoreUnavailable("away"), DamagedArchive("x"), HTTPClientError(error="away")]
)
def test_a_page_that_cannot_do_without_the_store_asks_to_try_again(error: Exception) -> None:
    try:
        raise error
    except type(error):
        answer = server_error(RequestFactory().get("/"))
    assert (answer.status_code, answer["Retry-After"]) == (503, "5")
