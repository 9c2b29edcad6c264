"""A zip for Zenodo: the same bytes twice, whole, and metadata beside it."""

from __future__ import annotations

import hashlib
import json
import subprocess
import zipfile
from pathlib import Path

import pytest
from django.utils import timezone

from annotation.models import Study
from publishing.actions.statements import describe_data
from publishing.destinations.base import Package
from publishing.destinations.zenodo import ZenodoZip
from publishing.errors import Damaged, PlaceOccupied
from publishing.facts import Statement
from publishing.files.archives import zip_of
from publishing.management.commands.deposit_release import _package
from publishing.models import Release
from tests.publishing.destinations.test_s3 import quiet
from tests.publishing.support import published

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("releases_root")]

PAGE = "https://study.example.org/releases/small/1/"


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture
def packed(release: Release) -> Package:
    return _package(release)


def test_the_zip_verifies_and_is_the_same_twice(packed: Package, tmp_path: Path) -> None:
    first, second = tmp_path / "a" / "small-1.zip", tmp_path / "b" / "small-1.zip"
    for target in (first, second):
        ZenodoZip(str(target), page=PAGE).deposit(packed, quiet)
        assert sorted(entry.name for entry in target.parent.iterdir()) == [
            "small-1.zenodo.json",
            "small-1.zip",
        ]
    assert sha256(first) == sha256(second)
    with zipfile.ZipFile(first) as archive:
        archive.extractall(tmp_path)
    inside = tmp_path / "small-1"
    subprocess.run(["sha256sum", "--quiet", "-c", "MANIFEST"], cwd=inside, check=True)


def test_the_metadata_says_what_zenodo_asks_for(packed: Package, tmp_path: Path) -> None:
    ZenodoZip(str(tmp_path / "small-1.zip"), page=PAGE).deposit(packed, quiet)
    fields = json.loads((tmp_path / "small-1.zenodo.json").read_text(encoding="utf-8"))
    assert fields["upload_type"] == "dataset"
    assert fields["title"] == "A study for tests (release 1)"
    assert fields["creators"] == [{"name": "The study small"}]
    assert fields["version"] == "1"
    assert fields["license"] == "cc-by-4.0"
    assert fields["related_identifiers"] == [
        {"identifier": PAGE, "relation": "isIdenticalTo", "resource_type": "dataset"}
    ]
    assert "2 stories kept of 4, with all 3 votes by 1 annotators" in fields["description"]
    assert packed.files[-1].sha256 in fields["description"]
    assert "validated" not in fields["description"]


def test_the_deposits_own_doi_is_no_other_version_and_the_projects_page_no_dataset(
    small: Study, tmp_path: Path
) -> None:
    doi, page = "10.5281/zenodo.1234", "https://project.example/"
    said = Statement(creators=("Ada Lovelace",), doi=doi, url=page)
    describe_data(study=small, statement=said, by=None, now=timezone.now())
    ZenodoZip(str(tmp_path / "small-1.zip")).deposit(_package(published(small)), quiet)
    fields = json.loads((tmp_path / "small-1.zenodo.json").read_text(encoding="utf-8"))
    assert fields["doi"] == doi
    assert fields["related_identifiers"] == [
        {"identifier": page, "relation": "isDocumentedBy", "resource_type": "other"}
    ]


def test_a_release_by_another_filter_is_not_called_validated(small: Study, tmp_path: Path) -> None:
    release = published(small, filter_name="majority")
    ZenodoZip(str(tmp_path / "small-1.zip"), page=PAGE).deposit(_package(release), quiet)
    fields = json.loads((tmp_path / "small-1.zenodo.json").read_text(encoding="utf-8"))
    assert "The stories are not “validated”: the filter majority keeps stories" in fields["description"]


def test_a_zip_that_is_there_is_compared_and_never_overwritten(packed: Package, tmp_path: Path) -> None:
    target = tmp_path / "small-1.zip"
    place = ZenodoZip(str(target))
    place.deposit(packed, quiet)
    assert place.plan(packed).upload == ()
    whole = target.read_bytes()
    target.unlink()
    (tmp_path / ".small-1.zip.part").write_bytes(whole[:1000])  # as a kill leaves it
    place.deposit(packed, quiet)
    assert target.read_bytes() == whole
    assert not (tmp_path / ".small-1.zip.part").exists()
    target.write_bytes(b"mine")
    with pytest.raises(PlaceOccupied, match="is not this release"):
        place.deposit(packed, quiet)
    assert target.read_bytes() == b"mine"
    (tmp_path / "small-1.zenodo.json").write_text("{}")
    with pytest.raises(PlaceOccupied, match=r"small-1\.zenodo\.json exists"):
        place.deposit(packed, quiet)


def test_an_archive_that_does_not_read_back_never_appears(
    packed: Package, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = packed.directory.with_name("other")
    other.mkdir()
    (other / "README.md").write_text("other")
    monkeypatch.setattr(
        "publishing.destinations.zenodo.zip_of", lambda _, __, name: zip_of(other, ["README.md"], name)
    )
    with pytest.raises(Damaged, match="does not read back"):
        ZenodoZip(str(tmp_path / "small-1.zip")).deposit(packed, quiet)
    assert not list(tmp_path.glob("*.zip*")) + list(tmp_path.glob(".*.part"))
