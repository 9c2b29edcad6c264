"""The data of an earlier version work after an upgrade."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.urls import reverse

from accounts.models import User
from annotation.models import Enrollment, Study, Vote
from bench.http import ASSIGNMENT
from publishing.files.directory import verify
from publishing.models import Release
from publishing.verification import check_release
from recruitment.links import personal_path
from tests import builders
from tests.publishing.support import published
from tests.upgrades import archive, world
from tests.upgrades.make import HERE, SECRET_KEY, version

MOST_BYTES = 100_000


@pytest.fixture
def upgraded(
    request: pytest.FixtureRequest, transactional_db: None, settings: Any, tmp_path: Path
) -> Iterator[dict[str, Any]]:
    """Restore the archive, migrate, and yield the schema that an empty database gets."""
    settings.RELEASES_ROOT, settings.SECRET_KEY = tmp_path / "kept" / "releases", SECRET_KEY
    new = archive.schema()
    with archive.database(f"{connection.settings_dict['NAME']}_upgraded"):
        settings.RELEASES_ROOT.parent.mkdir()
        archive.restore(request.param, settings.RELEASES_ROOT)
        call_command("migrate", verbosity=0)
        yield new


@pytest.mark.parametrize("upgraded", archive.archives(), ids=lambda path: path.name, indirect=True)
def test_the_data_of_an_earlier_version_work(upgraded: dict[str, Any], client: Client) -> None:
    call_command("check_integrity")
    _a_person_votes(client)
    _a_researcher_looks(client)
    _a_release_follows_the_old_one(client)
    call_command("check_integrity")
    different = {part: rows ^ upgraded[part] for part, rows in archive.schema().items()}
    assert {part: rows for part, rows in different.items() if rows} == {}, (
        "A migration was changed after the version that made the archive: write another one. Before the "
        "version is released, you may instead make its archive anew: python -m tests.upgrades.make"
    )


def _a_person_votes(client: Client) -> None:
    study = Study.objects.get(slug=world.OPEN)
    person = Enrollment.objects.filter(study=study, state="qualified").earliest("pk")
    before = Vote.objects.filter(assignment__enrollment=person).count()
    begin = client.post(personal_path(person))
    page = client.get(begin["Location"], follow=True)
    found = ASSIGNMENT.search(page.content)
    assert found, page.content.decode()
    form = builders.ALL_YES | {"assignment": found[1].decode()}
    client.post(page.redirect_chain[-1][0], form)
    assert Vote.objects.filter(assignment__enrollment=person).count() == before + 1


def _a_researcher_looks(client: Client) -> None:
    client.force_login(User.objects.get(username=world.OWNER))
    for slug in Study.objects.filter(memberships__user__username=world.OWNER).values_list("slug", flat=True):
        page = client.get(reverse("dashboard:overview", args=[slug]))
        assert page.status_code == 200
    assert world.OPEN in client.get(reverse("dashboard:studies")).content.decode()


def _a_release_follows_the_old_one(client: Client) -> None:
    study = Study.objects.get(slug=world.RELEASED)
    old = Release.objects.filter(study=study).latest("number")
    assert verify(old.directory)[1] == old.manifest_sha256
    release = published(study)
    assert release.number == old.number + 1
    assert check_release(release.directory).is_sound
    for one in (old, release):
        page = reverse("publishing:release", args=[study.slug, one.number])
        assert client.get(page).status_code == 200
        manifest = client.get(f"{page}files/MANIFEST").getvalue()
        assert sha256(manifest).hexdigest() == one.manifest_sha256


def test_this_versions_data_are_kept_and_small() -> None:
    """Whoever raises the version makes its archive: ``python -m tests.upgrades.make``."""
    made = HERE / f"{version()}.tar.xz"
    assert made in archive.archives()
    assert all(path.stat().st_size < MOST_BYTES for path in archive.archives())
