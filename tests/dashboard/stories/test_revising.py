"""The page that revises a story: who may, what it refuses, and what the pages of both versions say."""

from __future__ import annotations

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import User
from annotation import actions
from annotation.models import Membership, StoryRevision, Study
from dashboard.stories.versions import compared
from tests import builders
from tests.annotation.test_revisions import ROWS, TEXT, first, holding, inspected, vote

pytestmark = pytest.mark.django_db

PAGE = "/studies/study/stories/narrative-1/"
FORM = {"narrative": TEXT, "reason": "It told <too> much."}


def signed_in(study: Study, role: str = Membership.Role.RESEARCHER) -> Client:
    client, user = Client(), User.objects.create_user(f"one-{role}", password=None)
    actions.set_role(study=study, user=user, role=Membership.Role(role), by=None, now=timezone.now())
    client.force_login(user)
    return client


def test_both_versions_say_what_was_revised_and_why() -> None:
    study = inspected()
    (person,) = builders.qualified(study, 1)
    vote(holding(person, first(study)))
    client = signed_in(study)
    assert f'href="{PAGE}revise/"' in client.get(PAGE).content.decode()
    assert ROWS[0]["narrative"].partition("\n")[0] in client.get(f"{PAGE}revise/").content.decode()
    made = client.post(f"{PAGE}revise/", FORM, follow=True).content.decode()
    assert "narrative-1.r2 replaces narrative-1." in made
    old = client.get(PAGE).content.decode()
    for page in (old, made):
        assert "It told &lt;too&gt; much." in page
        assert "<ins>" in page
        assert "<del>" in page
        assert "one-researcher" in page
    assert person.pseudonym in old
    assert person.pseudonym not in made
    assert "narrative-1" in client.get(f"/studies/study/people/{person.pseudonym}/").content.decode()
    assert "revise/" not in old
    assert client.get(f"{PAGE}revise/").status_code == 404
    listed = client.get("/studies/study/stories/").content.decode()
    assert ">narrative-1.r2<" in listed
    assert ">narrative-1<" not in listed


def test_what_cannot_be_saved_stays_in_the_form() -> None:
    client = signed_in(inspected())
    refused = client.post(f"{PAGE}revise/", FORM | {"reason": " "})
    assert refused.status_code == 422
    assert "Give a reason" in refused.content.decode()
    assert TEXT in refused.content.decode()
    assert not StoryRevision.objects.exists()


@pytest.mark.parametrize("role", ["reviewer", "auditor"])
def test_only_those_who_may_change_the_study_revise(role: str) -> None:
    client = signed_in(inspected(), role)
    assert client.get(f"{PAGE}revise/").status_code == 403
    assert client.post(f"{PAGE}revise/", FORM).status_code == 403
    assert "revise/" not in client.get(PAGE).content.decode()


def test_stories_of_other_protocols_are_not_revised() -> None:
    study = builders.make_study()
    story = study.stories.first()
    assert story
    assert signed_in(study).get(f"/studies/study/stories/{story.story_id}/revise/").status_code == 404


@pytest.mark.parametrize(
    ("old", "new"), [("a b c", "a x c"), ("", "new"), ("one\n\ntwo", "one two"), ("the same", "the same")]
)
def test_passages_give_both_texts_back(old: str, new: str) -> None:
    passages = list(compared(old, new))
    assert "".join(one.same + one.taken_out for one in passages) == old
    assert "".join(one.same + one.put_in for one in passages) == new
