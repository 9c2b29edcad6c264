"""Choosing a filter for a release, and comparing what each would keep."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from accounts.actions import ensure_researcher
from annotation.models import Study
from dashboard.figures import compute
from publishing.models import Release
from tests.dashboard.figures.test_work import FORMS
from tests.publishing.support import judged_study

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("client")]


@pytest.fixture
def study() -> Study:
    return judged_study("compared", FORMS)


@pytest.fixture
def boss(study: Study) -> Client:
    client = Client()
    client.force_login(ensure_researcher(username="boss", password="a long enough password"))
    return client


def words(client: Client, address: str) -> str:
    text = re.sub(r"<[^>]+>", " ", client.get(address).content.decode())
    return " ".join(text.split())


def test_the_page_shows_what_each_filter_keeps(study: Study, boss: Client) -> None:
    for page in ("quality/filters", "releases/publish"):
        assert "The figures are being computed" in words(boss, f"/studies/compared/{page}/")
    compute.make(study.pk, now=timezone.now() + timedelta(hours=1))
    page = boss.get("/studies/compared/quality/filters/").content.decode()
    assert "hx-trigger" not in page, "the page stops looking once the result is there"
    shown = words(boss, "/studies/compared/quality/filters/")
    assert "3 complete stories with 9 votes. Participants who voted: 3" in shown
    assert "All agree counts as validated 1 33 % 2 0 0" in shown
    assert "Two of three 2 67 % 1 1 0" in shown
    assert "for comparison only" in shown
    shown = words(boss, "/studies/compared/releases/publish/")
    assert "It would keep 2 stories now and drop 1" in shown, "two of three"
    assert "1 story lacks votes and stays out" in shown
    assert "It would keep 1 story now and drop 2" in shown


@pytest.mark.parametrize(("said", "filter"), [({"filter": "majority"}, "majority"), ({}, "all-agree")])
def test_the_chosen_filter_is_recorded_and_without_a_choice_everybody_must_agree(
    study: Study, boss: Client, said: dict[str, str], filter: str
) -> None:
    boss.post("/studies/compared/releases/publish/", said | {"previewed": "1"})
    assert Release.objects.get(study=study).filter_name == filter


def test_no_release_is_made_with_the_model_or_an_unknown_filter(study: Study, boss: Client) -> None:
    for name in ("dawid-skene", "nonsense"):
        said = {"filter": name, "previewed": "1"}
        response = boss.post("/studies/compared/releases/publish/", said, follow=True)
        assert f"There is no filter “{name}”" in response.content.decode()
    assert not Release.objects.exists()
