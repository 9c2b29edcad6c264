"""Uploads and releases in a store that machines share: any machine has them, whole or not at all."""

from __future__ import annotations

import json
import os
import shutil
import tarfile
import time
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError, HTTPClientError
from django.core.cache import caches
from django.core.exceptions import ImproperlyConfigured
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.db import connection, transaction
from django.test import Client, RequestFactory
from django.utils import timezone

from annotation import actions as annotation_actions, locks
from annotation.actions import sweep_import_files
from annotation.errors import ImportRefused
from annotation.models import StoryImport, Study
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
from tests import builders
from tests.publishing.conftest import small_study
from tests.publishing.destinations.faults import drop, method_is
from tests.publishing.destinations.store import Store
from tests.publishing.support import published

pytestmark = pytest.mark.django_db(transaction=True)

URL = "/releases/small/1/"


@pytest.fixture
def machine(settings: Any, tmp_path: Path, store: Store, bucket: str) -> Any:
    """Turns this process into a machine of that name: with disks of its own and the store of all."""
    settings.STORAGE_URL = f"s3://{bucket}/site"
    settings.STORAGES = settings.STORAGES | {
        "default": {
            "BACKEND": "storages.backends.s3.S3Storage",
            "OPTIONS": {
                "bucket_name": bucket,
                "location": "site",
                "endpoint_url": store.url,
                "file_overwrite": False,
                "max_memory_size": 1 << 10,
                "region_name": "us-east-1",
            },
        }
    }

    def become(name: str) -> Path:
        settings.RELEASES_ROOT, settings.MEDIA_ROOT = tmp_path / name / "releases", tmp_path / name / "media"
        return tmp_path / name

    become("first")
    return become


def take_away(store: Store) -> None:
    """Let no request be answered until the faults are cleared."""
    for number in range(1, 200):
        store.faults.before(lambda *_: True, drop, nth=number)


def body(client: Client, url: str) -> tuple[int, bytes]:
    answer: Any = client.get(url)
    return answer.status_code, b"".join(answer) if answer.streaming else answer.content


def test_another_machine_serves_what_one_has_built(machine: Any, client: Client) -> None:
    release = published(small_study())
    machine("second")
    assert client.get(URL).status_code == 200
    for file in release.files.all():
        status, found = body(client, f"{URL}files/{file.path}")
        assert (status, len(found)) == (200, file.size)
    assert body(client, f"{URL}archive.tar")[0] == 200
    assert verify(release.directory)[1] == release.manifest_sha256
    assert published_release_is_unchanged.find(None).count == 0
    assert [path.name for path in release.directory.parent.iterdir()] == [release.directory.name]


def test_a_release_is_published_only_when_the_store_has_it(
    machine: Any, store: Store, client: Client, monkeypatch: pytest.MonkeyPatch
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


def test_a_build_killed_after_the_upload_is_done_again(machine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    release = releases.request_release(study=small_study(), by=None, now=timezone.now())
    monkeypatch.setattr(releases, "_publish", lambda *_, **__: (_ for _ in ()).throw(SystemExit))
    with pytest.raises(SystemExit):
        releases.build_release(release_id=release.pk, now=timezone.now())
    monkeypatch.undo()
    for name in ("first", "second"):
        machine(name)
        releases.build_release(release_id=release.pk, now=timezone.now())
        release.refresh_from_db()
        assert release.state == Release.State.PUBLISHED
        assert verify(release.directory)[1] == release.manifest_sha256


def test_what_a_failed_request_left_is_never_taken_for_the_next(
    machine: Any, monkeypatch: pytest.MonkeyPatch
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


def test_while_the_store_is_away_pages_say_so(machine: Any, store: Store, client: Client) -> None:
    release = published(small_study())
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


def test_a_damaged_archive_is_never_served(machine: Any, store: Store, bucket: str, client: Client) -> None:
    first, second = published(small_study()), published(small_study_again())
    there = {
        name: f"site/{places._key(release.directory)}" for name, release in (("1", first), ("2", second))
    }
    store.client.copy_object(Bucket=bucket, Key=there["1"], CopySource={"Bucket": bucket, "Key": there["2"]})
    machine("second")
    assert body(client, f"{URL}files/README.md")[0] == 503
    assert not list(Path(places.place_of("small", 1, "")).parent.iterdir())


def test_a_copy_that_a_killed_process_left_is_removed_by_the_next_fetch(machine: Any) -> None:
    release = published(small_study())
    machine("second")
    beside = places.place_of("small", 1, "").parent
    old, young = beside / ".fetching-old", beside / ".fetching-young"
    for copy in (old, young):
        copy.mkdir(parents=True)
    os.utime(old, (0, 0))
    assert release.directory.is_dir()
    assert (old.exists(), young.exists()) == (False, True)


def test_a_fetch_that_ends_while_another_begins_is_in_nobodys_way(
    machine: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = published(small_study())
    machine("second")
    ended = places.place_of("small", 1, "").with_name(".fetching-ended")
    monkeypatch.setattr(Path, "glob", lambda *_: iter([ended]))
    assert verify(release.directory)[1] == release.manifest_sha256


def test_a_long_fetch_stays_young_from_file_to_file(machine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    release = published(small_study())
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


def test_a_download_that_breaks_off_is_tried_again_later(machine: Any, store: Store, client: Client) -> None:
    """boto3 asks five times for a body that ends too early."""
    release = published(small_study())
    machine("second")
    store.cut_bodies = True
    with pytest.raises(StoreUnavailable, match="Max Retries"):
        release.directory  # noqa: B018
    assert body(client, f"{URL}files/README.md")[0] == 503
    store.cut_bodies = False
    assert body(client, f"{URL}files/README.md")[0] == 200


def test_a_truncated_archive_is_damaged(machine: Any, store: Store, bucket: str, client: Client) -> None:
    """Trying again does not help: checks and backups name it, and the next release fails with a reason."""
    release = published(small_study())
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
    machine: Any, store: Store, tmp_path: Path
) -> None:
    first, second = published(small_study()), published(small_study_again())
    machine("second")
    take_away(store)
    with pytest.raises(StoreUnavailable):
        published_release_is_unchanged.find(None)
    with pytest.raises(CommandError, match="Not all checks could run"):
        call_command("check_integrity", stdout=StringIO())
    with pytest.raises(StoreUnavailable):
        comparisons.compare(first, second)
    with pytest.raises(CommandError, match="The shared store"):
        call_command("backup", str(tmp_path / "backup"), stdout=StringIO(), stderr=StringIO())


def test_a_comparison_says_which_archive_is_damaged(machine: Any, store: Store, bucket: str) -> None:
    first, second = published(small_study()), published(small_study_again())
    shorten(store, bucket, archive_of(first))
    machine("second")
    with pytest.raises(UnusableRelease):
        comparisons.compare(first, second)


def test_two_processes_fetch_an_archive_at_once(machine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other one is faster by the least: it has moved its copy there when this one wants to."""
    release = published(small_study())
    machine("second")
    rename = Path.rename

    def second_rename(copy: Path, place: Path) -> Path:
        shutil.copytree(copy, place)
        return rename(copy, place)

    monkeypatch.setattr(Path, "rename", second_rename)
    assert verify(release.directory)[1] == release.manifest_sha256
    assert [path.name for path in release.directory.parent.iterdir()] == [release.directory.name]


def test_a_copy_that_cannot_be_moved_is_an_error(machine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    release = published(small_study())
    machine("second")
    monkeypatch.setattr(Path, "rename", lambda *_: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(OSError, match="full"):
        release.directory  # noqa: B018


def test_a_store_that_refuses_fails_the_release_with_the_reason(
    machine: Any, store: Store, bucket: str
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
        (404, "NoSuchBucket", True),
        (408, "Timeout", False),
        (429, "TooManyRequests", False),
        (400, "RequestTimeout", False),
        (503, "SlowDown", False),
    ],
)
def test_only_refusals_that_last_are_refusals(machine: Any, status: int, code: str, refuses: bool) -> None:
    answer: Any = {"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": status}}
    with pytest.raises(StoreUnavailable) as raised, places._store_errors(places.place_of("small", 1, "")):
        raise ClientError(answer, "PutObject")
    assert isinstance(raised.value, StoreRefused) == refuses


def small_study_again() -> Study:
    return Study.objects.get(slug="small")


def test_a_comparison_made_by_a_worker_is_read_elsewhere(machine: Any) -> None:
    first, second = published(small_study()), published(small_study_again())
    machine("worker")
    comparisons.compare(first, second)
    machine("web")
    found = comparisons.load(first, second)
    assert found is not None
    assert found.summary["same_verdict_other_votes"] == 0


def test_a_comparison_from_before_the_store_is_put_there(machine: Any, store: Store, bucket: str) -> None:
    first, second = published(small_study()), published(small_study_again())
    machine("worker")
    comparisons.compare(first, second)
    key = f"site/{places._key(comparisons.place_of(first, second))}"
    store.client.delete_object(Bucket=bucket, Key=key)
    comparisons.compare(first, second)
    machine("web")
    assert comparisons.load(first, second) is not None


def test_an_upload_is_imported_on_another_machine_and_leaves_no_copy(
    machine: Any, bucket: str, store: Store
) -> None:
    study = builders.make_study(stories=0, opened=False)
    rows = "".join(json.dumps(builders.story_row(number)) + "\n" for number in range(40))
    uploads = [SimpleUploadedFile("stories.jsonl", rows.encode()) for _ in range(2)]
    jobs = [
        annotation_actions.queue_import(study=study, file=upload, by=None, now=timezone.now())
        for upload in uploads
    ]
    assert len({job.file.name for job in jobs}) == 2, "the second never replaces the first"
    worker = machine("worker")
    done = annotation_actions.run_import(story_import_id=jobs[0].pk, now=timezone.now())
    assert (done.state, done.stories_added) == (StoryImport.State.IMPORTED, 40)
    assert not worker.exists()
    done.finished_at = timezone.now() - timedelta(days=1)
    done.save()
    assert sweep_import_files(now=timezone.now()) == 1
    left = store.client.list_objects_v2(Bucket=bucket)["Contents"]
    assert [entry["Key"] for entry in left] == [f"site/{jobs[1].file.name}"]


def test_an_import_waits_for_a_store_that_is_away(machine: Any, store: Store) -> None:
    study = builders.make_study(stories=0, opened=False)
    file = SimpleUploadedFile("stories.jsonl", json.dumps(builders.story_row(1)).encode())
    job = annotation_actions.queue_import(study=study, file=file, by=None, now=timezone.now())
    take_away(store)
    with pytest.raises(HTTPClientError):
        annotation_actions.run_import(story_import_id=job.pk, now=timezone.now())
    job.refresh_from_db()
    assert (job.state, job.tries) == (StoryImport.State.QUEUED, 0)
    store.faults.clear()
    assert annotation_actions.run_import(story_import_id=job.pk, now=timezone.now()).stories_added == 1


def test_an_import_whose_upload_is_gone_is_refused(machine: Any, store: Store, bucket: str) -> None:
    """Else the sweep would begin it again for ever."""
    study = builders.make_study(stories=0, opened=False)
    file = SimpleUploadedFile("stories.jsonl", json.dumps(builders.story_row(1)).encode())
    job = annotation_actions.queue_import(study=study, file=file, by=None, now=timezone.now())
    store.client.delete_object(Bucket=bucket, Key=f"site/{job.file.name}")
    with pytest.raises(ImportRefused):
        annotation_actions.run_import(story_import_id=job.pk, now=timezone.now())
    job.refresh_from_db()
    assert job.state == StoryImport.State.REFUSED
    assert job.problems.get().message == "The uploaded file is gone."


def test_an_upload_waits_while_the_bucket_is_missing(machine: Any, store: Store, bucket: str) -> None:
    study = builders.make_study(stories=0, opened=False)
    file = SimpleUploadedFile("stories.jsonl", json.dumps(builders.story_row(1)).encode())
    job = annotation_actions.queue_import(study=study, file=file, by=None, now=timezone.now())
    store.client.delete_object(Bucket=bucket, Key=f"site/{job.file.name}")
    store.client.delete_bucket(Bucket=bucket)
    with pytest.raises(ClientError, match="NoSuchBucket"):
        annotation_actions.run_import(story_import_id=job.pk, now=timezone.now())
    job.refresh_from_db()
    assert (job.state, job.tries) == (StoryImport.State.QUEUED, 0)


def test_a_backup_moves_an_installation_into_a_store(
    machine: Any, settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the releases: tests/operations restores the rest."""
    shared, settings.STORAGE_URL = settings.STORAGE_URL, ""
    release = published(small_study())
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
    machine: Any, monkeypatch: pytest.MonkeyPatch
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
