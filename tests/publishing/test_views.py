"""The public pages of releases, and what can be downloaded from them."""

from __future__ import annotations

import re
import tarfile
import zipfile
from io import BytesIO
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from annotation import actions as annotation_actions
from annotation.models import Study
from publishing import views
from publishing.actions import releases
from publishing.actions.statements import describe_data
from publishing.facts import Statement
from publishing.files.directory import MANIFEST, file_facts, verify
from publishing.models import Release
from publishing.verification import check_release
from publishing.views import ARCHIVES
from tests import builders
from tests.publishing.conftest import published_twice
from tests.publishing.support import published

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("releases_root")]


def content(client: Client, url: str) -> tuple[int, bytes]:
    response = client.get(url)
    return response.status_code, b"".join(response) if response.streaming else response.content


def test_a_published_release_is_listed_and_shown(client: Client, release: Release) -> None:
    page_url = reverse("publishing:release", args=["small", 1])
    assert page_url == "/releases/small/1/"
    listed = client.get(reverse("publishing:releases")).content.decode()
    assert page_url in listed
    shown = client.get(page_url).content.decode()
    for fact in (
        "A study for tests",
        "load_dataset(",
        "@misc{small-1,",
        release.manifest_sha256,
        "all-agree",
    ):
        assert fact in shown
    for path in [*release.files.values_list("path", flat=True), MANIFEST]:
        assert reverse("publishing:file", args=["small", 1, path]) in shown
    assert "How the stories were judged</h3>" in shown
    chart = reverse("publishing:file", args=["small", 1, "figures/retention.svg"])
    assert f'src="{chart}"' in shown
    assert content(client, chart)[1].startswith(b"<svg ")
    assert 'type="application/ld+json"' in shown
    assert reverse("publishing:feed") in shown
    assert " style=" not in shown


def test_what_is_not_published_is_not_there(client: Client, small: Study) -> None:
    release = releases.request_release(study=small, by=None, now=timezone.now())
    release.directory.mkdir(parents=True)
    (release.directory / MANIFEST).write_text("x")
    for url in ("/releases/small/1/", "/releases/small/1/files/MANIFEST"):
        assert client.get(url).status_code == 404
    assert "/releases/small/" not in client.get("/releases/").content.decode()
    releases.fail_release(release_id=release.pk, reason="x", now=timezone.now())
    assert client.get("/releases/small/1/").status_code == 404


def test_every_file_is_served_as_it_was_published(client: Client, release: Release) -> None:
    types = {
        ".md": "text/markdown",
        ".jsonl": "application/jsonl",
        ".json": "application/json",
        ".svg": "image/svg+xml",
        ".cff": "application/yaml",
        ".parquet": "application/vnd.apache.parquet",
        "": "text/plain",
    }
    for path in [*release.files.values_list("path", flat=True), MANIFEST]:
        response = client.get(f"/releases/small/1/files/{path}")
        assert b"".join(response) == (release.directory / path).read_bytes()
        assert response["Content-Type"].split(";")[0] == types[Path(path).suffix]
        assert response["X-Content-Type-Options"] == "nosniff"
        assert response["ETag"] == f'"{file_facts(release.directory, path).sha256}"'
        assert response["Content-Disposition"] == f'attachment; filename="small-1-{path.replace("/", "-")}"'
    again = client.get(f"/releases/small/1/files/{path}", headers={"If-None-Match": response["ETag"]})
    assert again.status_code == 304


ELSEWHERE = (
    "../1/README.md",
    "../../../outside.txt",
    "%2e%2e/%2e%2e/outside.txt",
    "..%2f..%2foutside.txt",
    "/etc/passwd",
    "story-data/../README.md",
    "./README.md",
    "README.md/",
    "story-data",
    "unlisted.txt",
    "link.txt",
    "readme.md",
    "manifest",
    "README.md%00",
)


def test_no_path_leads_to_anything_else(client: Client, release: Release, releases_root: Path) -> None:
    (releases_root.parent / "outside.txt").write_text("secret")
    (release.directory / "unlisted.txt").write_text("secret")
    (release.directory / "link.txt").symlink_to(releases_root.parent / "outside.txt")
    for path in ELSEWHERE:
        status, body = content(client, f"/releases/small/1/files/{path}")
        assert status in (400, 404), path
        assert b"secret" not in body, path


def test_pages_of_releases_only_read(client: Client, release: Release) -> None:
    for url in ("/releases/", "/releases/small/1/", "/releases/small/1/files/MANIFEST"):
        assert client.post(url).status_code == 405
        response = client.head(url)
        assert response.status_code == 200
        response.close()
    assert client.get("/releases/small/2/").status_code == 404
    assert client.get("/releases/other/1/").status_code == 404
    assert client.get(f"/releases/small/{10**20}/").status_code == 404


def test_the_list_takes_one_query(
    client: Client, releases_root: Path, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    published_twice()
    with django_assert_num_queries(1):
        client.get("/releases/")


def test_the_archives_unpack_to_a_directory_that_verifies(
    client: Client, release: Release, tmp_path: Path
) -> None:
    (release.directory / "notes.txt").write_text("not published")
    for kind in ("tar", "zip"):
        url = reverse("publishing:archive", args=["small", 1, kind])
        assert url == f"/releases/small/1/archive.{kind}"
        status, packed = content(client, url)
        assert status == 200
        assert content(client, url)[1] == packed
        place = tmp_path / kind
        if kind == "tar":
            with tarfile.open(fileobj=BytesIO(packed)) as archive:
                archive.extractall(place, filter="data")
        else:
            with zipfile.ZipFile(BytesIO(packed)) as zipped:
                assert zipped.testzip() is None
                zipped.extractall(place)  # noqa: S202 (our own archive)
        files, manifest_sha256 = verify(place / "small-1")
        assert manifest_sha256 == release.manifest_sha256
        assert {file.path for file in files} == set(release.files.values_list("path", flat=True))
    assert client.get("/releases/small/1/archive.rar").status_code == 404


def test_few_may_read_what_takes_long(
    client: Client, release: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each holds a thread of the web server while it is being read; small files are not counted."""
    monkeypatch.setattr(views, "AT_ONCE", 100)
    archive, large = "/releases/small/1/archive.tar", "/releases/small/1/files/README.md"
    first, second = client.get(archive), client.get(large)
    assert (first.status_code, second.status_code) == (200, 200)
    assert int(second["Content-Length"]) == len(b"".join(second))
    second = client.get(archive)
    for address in (archive, large):
        refused = client.get(address)
        assert (refused.status_code, refused["Retry-After"]) == (429, "30")
        assert client.head(address).status_code == 200
    assert client.get(archive, REMOTE_ADDR="192.0.2.7").status_code == 200
    assert client.get(archive, REMOTE_ADDR="192.0.2.8").status_code == 429, "three in all"
    first.close()
    assert b"".join(client.get(large, REMOTE_ADDR="192.0.2.8"))
    monkeypatch.undo()
    assert content(client, large)[0] == 200


def test_a_page_keeps_what_its_release_said(client: Client, small: Study) -> None:
    """Also when the researchers state something else later."""
    first = Statement(creators=("Lovelace, Ada",), motivation="A first motive.")
    describe_data(study=small, statement=first, by=None, now=timezone.now())
    published(small)
    second = Statement(creators=("Curie, Marie",), motivation="A second motive.")
    describe_data(study=small, statement=second, by=None, now=timezone.now())
    page = client.get("/releases/small/1/").content.decode()
    assert "A first motive." in page
    assert "A second motive." not in page
    assert "Lovelace, A. (2026)" in page


def test_a_page_keeps_its_title_when_the_study_is_renamed(client: Client, release: Release) -> None:
    annotation_actions.change_study(
        study=release.study, changes={"title": "Renamed"}, by=None, now=timezone.now()
    )
    for address in ("/releases/small/1/", "/releases/", reverse("publishing:feed")):
        page = client.get(address).content.decode()
        assert "A study for tests" in page
        assert "Renamed" not in page


def test_the_card_is_rendered_cached(
    client: Client, release: Release, django_assert_num_queries: DjangoAssertNumQueries, monkeypatch: Any
) -> None:
    with django_assert_num_queries(3):  # the release, its files, where else it is
        page = client.get("/releases/small/1/").content
    monkeypatch.setattr("publishing.views.rendered", None)
    monkeypatch.setattr("publishing.views.read_citation", None)
    assert client.get("/releases/small/1/").content == page


def test_the_feed_lists_the_newest_first(client: Client, releases_root: Path) -> None:
    first, second = published_twice()
    response = client.get(reverse("publishing:feed"))
    assert response["Content-Type"].startswith("application/atom+xml")
    root = ElementTree.fromstring(response.content)  # noqa: S314 (our own feed)
    atom = "{http://www.w3.org/2005/Atom}"
    entries = root.findall(f"{atom}entry")
    assert [entry.findtext(f"{atom}title") for entry in entries] == [
        f"A study for tests, release {release.number}" for release in (second, first)
    ]
    links = [entry.find(f"{atom}link") for entry in entries]
    assert [link.get("href") for link in links if link is not None] == [
        f"http://testserver/releases/small/{number}/" for number in (2, 1)
    ]
    assert entries[0].findtext(f"{atom}updated")
    assert client.get("/releases/").content.decode().count(reverse("publishing:feed")) == 2


def test_files_that_are_away_are_said_to_be_away(client: Client, release: Release) -> None:
    """A file, and an archive that would lack one, are refused with a page; nothing empty looks like data."""
    (release.directory / "README.md").unlink()
    urls = ["/releases/small/1/files/README.md", *(f"/releases/small/1/archive.{kind}" for kind in ARCHIVES)]
    for url in urls:
        status, said = content(client, url)
        assert status == 503
        assert b"Temporarily unavailable" in said
    assert content(client, "/releases/small/1/files/release.json")[0] == 200
    release.directory.rename(release.directory.with_name("away"))
    for url in (*urls, "/releases/small/1/files/MANIFEST"):
        assert content(client, url)[0] == 503
    shown = client.get("/releases/small/1/")
    assert shown.status_code == 200, "the page stands"
    assert re.search(rb">MANIFEST</a></th>\s*<td class=\"number\"></td>", shown.content)


def test_a_test_run_is_in_no_public_list(client: Client, release: Release) -> None:
    rehearsed = builders.make_study("rehearsed", stories=1)
    rehearsed = annotation_actions.make_rehearsal(study=rehearsed, by=None, now=timezone.now())
    for person in builders.qualified(rehearsed, 3):
        builders.vote(person)
    run = published(rehearsed)
    assert run.environment == "rehearsal"
    assert "THIS IS A TEST RUN" in (run.directory / "README.md").read_text(encoding="utf-8")
    for url in ("/releases/", "/", reverse("publishing:feed")):
        page = client.get(url).content.decode()
        assert "/releases/small/1/" in page
        assert "/releases/rehearsed/1/" not in page
    assert "A test run, not data" in client.get("/releases/rehearsed/1/").content.decode()


def test_a_release_by_another_filter_is_not_validated_by_all_wherever_it_is_named(
    client: Client, release: Release
) -> None:
    for url in ("/releases/", "/", reverse("publishing:feed"), "/releases/small/1/"):
        assert "alidated by all" not in client.get(url).content.decode()
    other = published(release.study, filter_name="two-of-three")
    for url in ("/releases/", "/", reverse("publishing:feed")):
        assert client.get(url).content.decode().count("Not validated by all") == 1
    page = client.get("/releases/small/2/").content.decode()
    assert "A study for tests (not validated by all) (Release 2) [Data set]" in page
    title = "A study for tests (not validated by all)"
    assert f"title: {title}" in (other.directory / "CITATION.cff").read_text()
    front = (other.directory / "README.md").read_text().split("---")[1]
    assert f"pretty_name: {title}" in front
    assert "- not-validated-by-all" in front
    assert check_release(other.directory).shown == [], "its own check reads the mark"
