"""Releases in a bucket: whole, last the MANIFEST, compared, never over something else."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from publishing.destinations.base import Package
from publishing.destinations.s3 import S3Prefix
from publishing.errors import AccessRefused, Damaged, PlaceOccupied, Unreachable, WrongPlace, WrongVisibility
from tests.publishing.destinations.faults import drop, method_is
from tests.publishing.destinations.store import Store

Make = Callable[..., Package]
MIB = 1 << 20


def quiet(line: str) -> None:
    """Progress that nobody reads."""


def there(store: Store, bucket: str, prefix: str = "pilot/1/") -> dict[str, bytes]:
    listed = store.client.list_objects_v2(Bucket=bucket, Prefix=prefix).get("Contents", ())
    keys = [entry["Key"] for entry in listed]
    return {
        key.removeprefix(prefix): store.client.get_object(Bucket=bucket, Key=key)["Body"].read()
        for key in keys
    }


def in_directory(package: Package) -> dict[str, bytes]:
    return {file.path: (package.directory / file.path).read_bytes() for file in package.files}


def puts(store: Store) -> list[str]:
    return [seen.rpartition("/")[2] for seen in store.faults.seen if seen.startswith("PUT ")]


def place(store: Store, bucket: str, **options: Any) -> S3Prefix:
    return S3Prefix(f"s3://{bucket}/pilot/1", endpoint_url=store.url, **options)


def test_the_directory_is_there_byte_for_byte_and_manifest_came_last(
    store: Store, bucket: str, make_package: Make
) -> None:
    package = make_package()
    planned = place(store, bucket).plan(package)
    assert (planned.upload, there(store, bucket)) == (package.files, {})
    store.faults.clear()
    done = place(store, bucket).deposit(package, quiet)
    assert puts(store)[-1] == "MANIFEST"
    assert there(store, bucket) == in_directory(package)
    for file in package.files:
        head = store.client.head_object(Bucket=bucket, Key=f"pilot/1/{file.path}")
        assert head["Metadata"] == {"sha256": file.sha256}
    head = store.client.head_object(Bucket=bucket, Key="pilot/1/README.md")
    assert head["ContentType"] == "text/markdown; charset=utf-8"
    assert done == f"{store.url}/{bucket}/pilot/1/MANIFEST"
    store.faults.clear()
    place(store, bucket).deposit(package, quiet)
    assert puts(store) == []


def test_a_cut_connection_is_named_and_the_rest_comes_with_the_next_try(
    store: Store, bucket: str, make_package: Make
) -> None:
    package = make_package()
    store.faults.before(method_is("PUT"), drop, nth=3)
    with pytest.raises(Unreachable, match="run this again"):
        place(store, bucket).deposit(package, quiet)
    arrived = there(store, bucket)
    assert len(arrived) == 2
    assert "MANIFEST" not in arrived
    store.faults.clear()
    place(store, bucket).deposit(package, quiet)
    assert len(puts(store)) == len(package.files) - 2
    assert there(store, bucket) == in_directory(package)


def test_bytes_changed_on_their_way_are_refused_by_the_store(
    store: Store, bucket: str, make_package: Make
) -> None:
    store.garble = True
    with pytest.raises(Damaged, match="BadDigest"):
        place(store, bucket).deposit(make_package(), quiet)
    assert there(store, bucket) == {}


def test_bytes_changed_on_their_way_are_found_where_the_store_checks_nothing(
    store: Store, bucket: str, make_package: Make
) -> None:
    store.knows_checksums = False
    store.garble = True
    package = make_package()
    with pytest.raises(Damaged, match="is not there as MANIFEST says"):
        place(store, bucket).deposit(package, quiet)
    assert "MANIFEST" not in there(store, bucket)


def test_another_release_that_stands_there_is_left_alone(
    store: Store, bucket: str, make_package: Make
) -> None:
    first, second = make_package(1), make_package(2)
    place(store, bucket).deposit(first, quiet)
    for act in (place(store, bucket).plan, lambda packed: place(store, bucket).deposit(packed, quiet)):
        with pytest.raises(PlaceOccupied, match="Another release stands"):
            act(second)
    assert there(store, bucket) == in_directory(first)


@pytest.mark.parametrize(
    ("path", "said"), [("README.md", "has other content"), ("notes.txt", "does not belong")]
)
def test_what_somebody_else_put_there_is_left_alone(
    store: Store, bucket: str, make_package: Make, path: str, said: str
) -> None:
    store.client.put_object(Bucket=bucket, Key=f"pilot/1/{path}", Body=b"mine")
    with pytest.raises(PlaceOccupied, match=said):
        place(store, bucket).deposit(make_package(), quiet)
    assert there(store, bucket) == {path: b"mine"}


def test_an_object_that_was_changed_or_lost_afterwards_is_mended(
    store: Store, bucket: str, make_package: Make
) -> None:
    package = make_package()
    place(store, bucket).deposit(package, quiet)
    store.client.put_object(Bucket=bucket, Key="pilot/1/README.md", Body=b"x" * package.files[1].size)
    store.client.delete_object(Bucket=bucket, Key="pilot/1/empty.jsonl")
    planned = place(store, bucket).plan(package)
    assert [file.path for file in planned.upload] == ["README.md", "empty.jsonl"]
    place(store, bucket).deposit(package, quiet)
    assert there(store, bucket) == in_directory(package)


@pytest.fixture
def _in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("publishing.destinations.s3.MULTIPART_FROM", 5 * MIB)


@pytest.mark.usefixtures("_in_parts")
def test_a_big_file_is_sent_in_parts_and_is_there_whole_or_not_at_all(
    store: Store, bucket: str, make_package: Make
) -> None:
    package = make_package(big=17 * MIB)
    big = "parquet/story-data/test.parquet"
    store.faults.before(method_is("PUT", big), drop, nth=2)
    with pytest.raises(Unreachable):
        place(store, bucket).deposit(package, quiet)
    assert big not in there(store, bucket)
    assert store.client.list_multipart_uploads(Bucket=bucket).get("Uploads", []) == []
    store.faults.clear()
    place(store, bucket).deposit(package, quiet)
    assert puts(store).count("test.parquet") == 2
    assert there(store, bucket) == in_directory(package)
    assert place(store, bucket).plan(package).upload == ()


@pytest.mark.usefixtures("_in_parts")
def test_a_part_changed_on_its_way_is_refused(store: Store, bucket: str, make_package: Make) -> None:
    def garble() -> None:
        store.garble = True

    store.faults.before(method_is("PUT", "test.parquet"), garble)
    with pytest.raises(Damaged):
        place(store, bucket).deposit(make_package(big=17 * MIB), quiet)
    assert "MANIFEST" not in there(store, bucket)


def test_public_means_that_anybody_can_read_it(store: Store, bucket: str, make_package: Make) -> None:
    package = make_package()
    with pytest.raises(WrongVisibility, match="s3:GetObject"):
        place(store, bucket, public=True).deposit(package, quiet)
    *others, last = [file.path for file in package.files[::-1]]
    for path in others:  # MANIFEST is the first of them, and not enough
        store.client.put_object_acl(Bucket=bucket, Key=f"pilot/1/{path}", ACL="public-read")
    with pytest.raises(WrongVisibility, match=re.escape(last)):
        place(store, bucket, public=True).deposit(package, quiet)
    store.client.put_object_acl(Bucket=bucket, Key=f"pilot/1/{last}", ACL="public-read")
    place(store, bucket, public=True).deposit(package, quiet)


def test_a_bucket_that_is_not_there(store: Store, make_package: Make) -> None:
    with pytest.raises(WrongPlace, match="There is no bucket"):
        place(store, "no-such-bucket").deposit(make_package(), quiet)


def test_no_credentials(
    store: Store, bucket: str, make_package: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    with pytest.raises(AccessRefused, match="AWS_ACCESS_KEY_ID"):
        place(store, bucket).plan(make_package())


def test_nobody_answers(store: Store, make_package: Make) -> None:
    with pytest.raises(Unreachable, match="S3_ENDPOINT_URL"):
        S3Prefix("s3://bucket/pilot/1", endpoint_url="http://127.0.0.1:9").plan(make_package())
