"""Uploads in a store that machines share: whichever machine imports them, they come whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from botocore.exceptions import ClientError, HTTPClientError
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone

from annotation import actions as annotation_actions
from annotation.actions import sweep_import_files
from annotation.errors import ImportRefused
from annotation.models import StoryImport
from tests import builders
from tests.publishing.conftest import take_away
from tests.publishing.destinations.store import Store

pytestmark = pytest.mark.django_db(transaction=True)
Machine = Callable[[str], Path]


def test_an_upload_is_imported_on_another_machine_and_leaves_no_copy(
    machine: Machine, bucket: str, store: Store
) -> None:
    study = builders.make_study(stories=0, opened=False)
    rows = "".join(json.dumps(builders.story_row(number)) + "\n" for number in range(5))
    uploads = [SimpleUploadedFile("stories.jsonl", rows.encode()) for _ in range(2)]
    jobs = [
        annotation_actions.queue_import(study=study, file=upload, by=None, now=timezone.now())
        for upload in uploads
    ]
    assert len({job.file.name for job in jobs}) == 2, "the second never replaces the first"
    worker = machine("worker")
    done = annotation_actions.run_import(story_import_id=jobs[0].pk, now=timezone.now())
    assert (done.state, done.stories_added) == (StoryImport.State.IMPORTED, 5)
    assert not worker.exists()
    done.finished_at = timezone.now() - timedelta(days=1)
    done.save()
    assert sweep_import_files(now=timezone.now()) == 1
    left = store.client.list_objects_v2(Bucket=bucket)["Contents"]
    assert [entry["Key"] for entry in left] == [f"site/{jobs[1].file.name}"]


def test_an_import_waits_for_a_store_that_is_away(machine: Machine, store: Store) -> None:
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


def test_an_import_whose_upload_is_gone_is_refused(machine: Machine, store: Store, bucket: str) -> None:
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


def test_an_upload_waits_while_the_bucket_is_missing(machine: Machine, store: Store, bucket: str) -> None:
    study = builders.make_study(stories=0, opened=False)
    file = SimpleUploadedFile("stories.jsonl", json.dumps(builders.story_row(1)).encode())
    job = annotation_actions.queue_import(study=study, file=file, by=None, now=timezone.now())
    store.client.delete_object(Bucket=bucket, Key=f"site/{job.file.name}")
    store.client.delete_bucket(Bucket=bucket)
    with pytest.raises(ClientError, match="NoSuchBucket"):
        annotation_actions.run_import(story_import_id=job.pk, now=timezone.now())
    job.refresh_from_db()
    assert (job.state, job.tries) == (StoryImport.State.QUEUED, 0)
