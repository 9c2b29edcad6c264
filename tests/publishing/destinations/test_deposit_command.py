"""``manage.py deposit_release``: what it records, prints and refuses."""

from __future__ import annotations

import json
import sys
from io import StringIO
from pathlib import Path

import pytest
from django.db import DatabaseError, IntegrityError, transaction
from django.test import Client
from django.utils import timezone

from annotation import actions as annotation_actions
from annotation.models import Event
from publishing.actions import releases
from publishing.models import Deposit, Release
from tests import builders
from tests.publishing.destinations.depositing import md5s, objects, on_disk, run
from tests.publishing.destinations.faults import drop, method_is
from tests.publishing.destinations.hub import TOKEN, Hub
from tests.publishing.destinations.store import Store
from tests.publishing.support import published

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("releases_root"),
    pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning"),
]


def events(release: Release) -> list[str]:
    found = Event.objects.filter(study=release.study, type__startswith="deposit").order_by("pk")
    return [event.type for event in found]


def test_a_deposit_is_recorded_and_shown_once_everybody_can_read_it(
    release: Release, at_store: Store, at_hub: Hub, bucket: str, client: Client
) -> None:
    place = f"s3://{bucket}/small/1"
    code, out, err = run("small", "1", "--to", place)
    assert (code, out) == (0, f"{at_store.url}/{bucket}/small/1/MANIFEST\n"), err
    assert objects(at_store, bucket, "small/1") == md5s(on_disk(release))
    deposit = Deposit.objects.get()
    assert (deposit.state, deposit.place, deposit.public) == ("done", place, False)
    assert events(release) == ["deposit_requested", "deposit_done"]
    assert run("small", "1", "--to", place)[0] == 0
    assert events(release) == ["deposit_requested", "deposit_done"]

    code, out, err = run("small", "1", "--to", "huggingface:lab/small", "--public", "--json")
    assert code == 0, err
    url = f"{at_hub.url}/datasets/lab/small/tree/v1"
    assert json.loads(out) == {
        "study": "small", "number": 1, "kind": "huggingface", "place": "lab/small", "url": url,
        "public": True, "manifest_sha256": release.manifest_sha256,
    }  # fmt: skip
    stored = at_hub.repositories["lab/small"].files("main")
    assert {path: stored[path] for path in stored if path != ".gitattributes"} == on_disk(release)
    page = client.get("/releases/small/1/").content.decode()
    assert url in page
    assert bucket not in page
    assert TOKEN not in page
    assert TOKEN not in json.dumps(list(Deposit.objects.values()) + list(Event.objects.values()), default=str)


def test_researchers_see_every_deposit_and_why_it_failed(
    release: Release, at_store: Store, bucket: str, admin_client: Client
) -> None:
    at_store.faults.before(method_is("PUT"), drop, nth=2)
    code, _, err = run("small", "1", "--to", f"s3://{bucket}/small/1")
    assert code == 3
    assert "run this again" in err
    deposit = Deposit.objects.get()
    assert deposit.state == "failed"
    assert deposit.failure in err
    assert events(release) == ["deposit_requested", "deposit_failed"]
    page = admin_client.get("/studies/small/").content.decode()
    assert f"s3://{bucket}/small/1" in page
    assert "run this again" in page
    assert run("small", "1", "--to", f"s3://{bucket}/small/1")[0] == 0
    deposit.refresh_from_db()
    assert (deposit.state, deposit.failure) == ("done", "")


def test_what_is_done_stays_done_while_the_network_is_down_but_not_when_it_was_replaced(
    release: Release, at_store: Store, bucket: str
) -> None:
    place = f"s3://{bucket}/small/1"
    assert run("small", "1", "--to", place)[0] == 0
    at_store.faults.before(method_is("GET"), drop)
    assert run("small", "1", "--to", place)[0] == 3
    assert Deposit.objects.get().state == "done"
    at_store.client.put_object(Bucket=bucket, Key="small/1/MANIFEST", Body=b"other\n")
    code, _, err = run("small", "1", "--to", place)
    assert code == 4
    assert "Another release stands" in err
    assert Deposit.objects.get().state == "failed"


def test_a_dry_run_lists_everything_and_leaves_no_trace(
    release: Release, at_store: Store, at_hub: Hub, bucket: str
) -> None:
    for place in (f"s3://{bucket}/small/1", "huggingface:lab/small"):
        code, out, _ = run("small", "1", "--to", place, "--dry-run")
        assert code == 0
        for path in on_disk(release):
            assert f"  {path}\n" in out
        code, out, _ = run("small", "1", "--to", place, "--dry-run", "--json")
        assert set(json.loads(out)["upload"]) == on_disk(release).keys()
    assert objects(at_store, bucket, "small/1") == {}
    assert at_hub.repositories == {}
    assert not Deposit.objects.exists()
    assert events(release) == []


def test_the_token_is_asked_for_where_somebody_sits(
    release: Release, at_hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Terminal(StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.delenv("HF_TOKEN")
    monkeypatch.setattr(sys, "stdin", Terminal())
    monkeypatch.setattr("getpass.getpass", lambda prompt: f"{TOKEN}\n")
    code, out, err = run("small", "1", "--to", "huggingface:lab/small")
    assert code == 0, err
    assert TOKEN not in out + err
    monkeypatch.setattr("getpass.getpass", lambda prompt: "hf_wrong")
    code, out, err = run("small", "1", "--to", "huggingface:lab/small")
    assert (code, "refuses this token" in err) == (1, True)
    assert "hf_wrong" not in out + err
    assert Deposit.objects.get().state == "done"


def test_a_zip_is_made_where_it_was_asked_for(release: Release, tmp_path: Path) -> None:
    code, out, err = run("small", "1", "--to", f"zip:{tmp_path}/small-1.zip")
    assert (code, out) == (0, f"{tmp_path}/small-1.zip\n"), err
    assert not Deposit.objects.exists()


def test_a_rehearsal_leaves_only_as_one(at_hub: Hub, tmp_path: Path) -> None:
    study = builders.make_study("rehearsed", stories=2, votes_per_story=1, opened=False)
    annotation_actions.make_rehearsal(study=study, by=None, now=timezone.now())
    annotation_actions.open_study(study=study, by=None, now=timezone.now())
    study.refresh_from_db()
    builders.answer_everything(builders.qualified(study))
    published(study)
    code, _, err = run("rehearsed", "1", "--to", "huggingface:lab/rehearsed")
    assert code == 1
    assert "Add --rehearsal" in err
    assert run("rehearsed", "1", "--to", "huggingface:lab/rehearsed", "--rehearsal")[0] == 0
    assert at_hub.repositories["lab/rehearsed"].messages[-1].startswith("Test run, not data")
    assert run("rehearsed", "1", "--to", f"zip:{tmp_path}/r.zip", "--rehearsal")[0] == 0
    fields = json.loads((tmp_path / "r.zenodo.json").read_text(encoding="utf-8"))
    assert fields["title"].startswith("Test run, not data")


REFUSALS = (
    (["small", "9", "--to", "s3://bucket/a"], 1, "no release 9"),
    (["small", "1", "--to", "ftp://bucket/a"], 2, "not a place for a release"),
    (["small", "1", "--to", "s3://bucket"], 2, "a prefix"),
    (["small", "1", "--to", "s3://bucket/a/../b"], 2, "a prefix"),
    (["small", "1", "--to", "s3://key:secret@bucket/a"], 2, "name of a bucket"),
    (["small", "1", "--to", "huggingface:lab"], 2, "owner and the name"),
    (["small", "1", "--to", "zip:here"], 2, "ends in .zip"),
    (["small", "1", "--to", "zip:here.zip", "--public"], 2, "--public"),
    (["small", "1", "--to", "s3://bucket/a", "--rehearsal"], 2, "is not a test run"),
    (["small", "1", "--to", "huggingface:lab/small"], 2, "No Hugging Face token"),
)


def test_refusals(release: Release, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HF_TOKEN", raising=False)
    monkeypatch.setattr(sys, "stdin", StringIO())
    for arguments, expected, said in REFUSALS:
        code, _, err = run(*arguments)
        assert (code, said in err) == (expected, True), (arguments, err)
    assert not Deposit.objects.exists()


def test_only_a_whole_published_release_leaves(release: Release, at_store: Store, bucket: str) -> None:
    waiting = releases.request_release(study=release.study, by=None, now=timezone.now())
    code, _, err = run("small", str(waiting.number), "--to", f"s3://{bucket}/small/2")
    assert (code, "Only a published release" in err) == (1, True)
    with pytest.raises(DatabaseError, match="only a published"), transaction.atomic():
        Deposit.objects.create(release=waiting, kind="s3", place="s3://b/p", requested_at=timezone.now())
    (release.directory / "README.md").write_text("changed")
    code, _, err = run("small", "1", "--to", f"s3://{bucket}/small/1")
    assert (code, "README.md does not have the SHA-256" in err) == (1, True)
    assert objects(at_store, bucket, "small/1") == {}


def test_the_database_takes_no_secret_and_no_half_said_state(release: Release) -> None:
    now = timezone.now()
    whole = {"state": "done", "done_at": now, "url": "https://x/y"}
    for wrong in (
        {"place": "s3://key@bucket/p"},
        {"place": "https://bucket/p?X-Amz-Signature=1"},
        {"kind": "ftp"},
        {"state": "done"},
        {"state": "failed"},
        whole | {"url": "https://x/?token=1"},
        whole | {"url": "https://user:word@x/"},
    ):
        row = {"kind": "s3", "place": "s3://bucket/p", "requested_at": now} | wrong
        with pytest.raises(IntegrityError), transaction.atomic():
            Deposit.objects.create(release=release, **row)
    Deposit.objects.create(release=release, kind="s3", place="s3://bucket/p", requested_at=now, **whole)
