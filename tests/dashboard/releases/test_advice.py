"""Advice for the authors of stories, which no release repeats."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from accounts.actions import ensure_researcher
from publishing.files import jsonl
from publishing.models import Release
from tests.publishing.conftest import published_small
from tests.publishing.test_card import known


@pytest.fixture
def release(tmp_path: Path, settings: Any) -> Release:
    settings.RELEASES_ROOT = tmp_path / "releases"
    return published_small()


@pytest.mark.django_db(transaction=True)
def test_the_page_of_releases_advises_authors_from_the_newest_release(
    release: Release, client: Client
) -> None:
    client.force_login(ensure_researcher(username="boss", password="a long enough password"))
    page = reverse("dashboard:releases", args=[release.study.slug])
    heading = "Advice for your next stories"
    assert heading not in client.get(page).content.decode()
    (release.directory / "machine_validation.json").write_bytes(jsonl.document(known().guesses))
    shown = client.get(page).content.decode()
    assert heading in shown
    assert "balance the lengths of right and wrong choices" in shown
