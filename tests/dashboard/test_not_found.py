"""Where there is nothing, researchers are told what was looked for, and where to find what there is."""

from __future__ import annotations

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import User
from annotation import actions
from annotation.models import Membership
from tests import builders

pytestmark = pytest.mark.django_db

FOR_ANNOTATORS = "copy the whole link"


@pytest.fixture
def researcher(client: Client) -> Client:
    user = User.objects.create_user("rosa", password=None)
    study = builders.make_study("main", stories=1)
    actions.set_role(study=study, user=user, role=Membership.Role.REVIEWER, by=None, now=timezone.now())
    client.force_login(user)
    return client


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("stories/nothing-here/", "There is no story “nothing-here” in this study"),
        ("quality/decisions/of/%3Cb%3E/", "There is no story “&lt;b&gt;” in this study"),
        ("stories/a%00b/", "There is no story “…” in this study"),
        ("people/annotator-0/", "There is no participant “annotator-0” in this study"),
        ("quality/review/4711/", "There is no such page in this study"),
        ("this/is/no/page/", "There is no such page in this study"),
    ],
)
def test_what_a_study_has_not_is_named_and_its_lists_are_linked(
    researcher: Client, address: str, said: str
) -> None:
    response = researcher.get(f"/studies/main/{address}")
    page = response.content.decode()
    assert response.status_code == 404
    assert said in page
    for there in ("/studies/main/stories/", "/studies/main/people/", "/studies/main/", "/studies/"):
        assert f'href="{there}"' in page
    assert "Pages of this study" in page
    assert FOR_ANNOTATORS not in page


def test_a_study_of_others_is_told_of_like_one_that_is_not_there(researcher: Client) -> None:
    builders.make_study("theirs")
    pages = []
    for slug in ("theirs", "never-made"):
        response = researcher.get(f"/studies/{slug}/")
        assert response.status_code == 404
        pages.append(response.content.decode().partition("<main")[2].replace(slug, "slug"))
    assert "You are not a member of a study “slug”" in pages[0]
    assert pages[0] == pages[1]
    assert 'href="/studies/"' in pages[0]


def test_everybody_else_and_every_other_page_is_answered_as_before(researcher: Client) -> None:
    for client, address in ((Client(), "/studies/main/this/is/no/page/"), (researcher, "/nowhere/")):
        response = client.get(address)
        assert response.status_code == 404
        assert FOR_ANNOTATORS in response.content.decode()


def test_a_page_that_never_was_links_to_the_front_page(client: Client) -> None:
    response = client.get("/nope/")
    assert response.status_code == 404
    assert ">Front page</a>" in response.content.decode()
