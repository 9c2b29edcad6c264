"""What a new campaign's form is filled with: words for those who will do the work."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import Study
from tests import builders
from tests.dashboard.test_roles import Role, client_of, member

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("client")]


@pytest.fixture
def study() -> Study:
    return builders.make_study(
        title="S" * 150, description="Some stories are flawed in a known way.", stories=3, qualification=1
    )


def filled_in(client: Client, purpose: str) -> dict[str, str]:
    page = client.get(reverse("dashboard:new_campaign", args=["study", "prolific", purpose]))
    return {name: page.context["form"].initial[name] for name in ("title", "description")}


def test_the_test_and_the_stories_are_told_apart_and_say_nothing_of_the_stories(study: Study) -> None:
    client = client_of(member(study, Role.RESEARCHER))

    test, stories = filled_in(client, "test"), filled_in(client, "stories")

    assert test["title"].endswith(" (test)")
    assert stories["title"].endswith(" (stories)")
    assert {len(test["title"]), len(stories["title"])} == {128}
    assert "about 10 minutes" in test["description"]
    assert "If you pass, you are offered more stories." in test["description"]
    assert "You read 20 short stories" in stories["description"]
    assert "about 20 minutes" in stories["description"]
    assert not any("flawed" in said["description"] for said in (test, stories))
