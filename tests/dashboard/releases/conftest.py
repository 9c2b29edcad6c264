"""A study with two releases of the same votes, and a researcher who looks at them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from accounts.actions import ensure_researcher
from annotation.models import Study
from publishing.actions.published import withdraw_release
from publishing.models import Release, Withdrawal
from tests.builders import ALL_YES, answers
from tests.publishing.support import judged_study, published
from tests.worlds import built_once

FORMS = {
    "both": (ALL_YES, ALL_YES, ALL_YES),
    "lost": (ALL_YES, ALL_YES, ALL_YES),
    "two-yes": (ALL_YES, ALL_YES, answers(q3="no")),
    "never": (answers(q1="no"), answers(q1="no"), answers(q1="no")),
}
WHY = "The key information of one scenario is wrong."


@pytest.fixture
def releases_root(settings: Any, tmp_path: Path) -> Path:
    settings.RELEASES_ROOT = tmp_path / "releases"
    return tmp_path / "releases"


@pytest.fixture
def study(releases_root: Path) -> Study:
    return judged_study("pilot", FORMS)


@pytest.fixture
def release(releases_root: Path) -> Release:
    return first_release()


@pytest.fixture
def two(releases_root: Path) -> tuple[Release, Release]:
    return two_releases()


@pytest.fixture
def boss() -> Client:
    client = Client()
    client.force_login(ensure_researcher(username="boss", password="a long enough password"))
    return client


def words(client: Client, address: str) -> str:
    text = re.sub(r"<[^>]+>", " ", client.get(address).content.decode())
    return " ".join(text.split())


@built_once
def first_release() -> Release:
    return published(judged_study("pilot", FORMS))


@built_once
def two_releases() -> tuple[Release, Release]:
    """Two releases of the same votes, made by two filters."""
    first = first_release()
    return first, published(first.study, filter_name="two-of-three")


def withdrawn(release: Release) -> Withdrawal:
    return withdraw_release(release=release, reason=WHY, by=None, now=timezone.now())
