"""The page that revises a story: who may, what it refuses, and what the pages of both versions say."""

from __future__ import annotations

import re
import time

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import User
from annotation import actions
from annotation.models import Membership, StoryRevision, Study
from dashboard.stories.versions import changed_passage
from tests import builders
from tests.annotation.pages import at, text_of
from tests.annotation.test_revisions import ROWS, TEXT, first, holding, inspected, revise, vote

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("static_root")]

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
    assert old.index("This is an old version.") < old.index("Verdict so far")
    assert "from narrative-1, " in made
    assert "Story revised" in made
    assert "Story revised" in old
    assert "narrative-1 has been revised." in client.get(f"{PAGE}revise/", follow=True).content.decode()
    listed = client.get("/studies/study/stories/").content.decode()
    assert ">narrative-1.r2<" in listed
    assert ">narrative-1<" in listed
    assert "dropped: revised" in listed
    exported = b"".join(client.get("/studies/study/stories/votes.csv")).decode()
    assert re.search(rf"\bnarrative-1\b.*{person.pseudonym}|{person.pseudonym}.*\bnarrative-1\b", exported)


def test_whoever_judged_the_old_version_reads_that_the_story_was_changed() -> None:
    study = inspected()
    person, other = builders.qualified(study, 2)
    vote(holding(person, first(study)))
    revise(first(study))
    told = "You have read an earlier version of this story."
    for one in (person, other):
        while (held := builders.claim(one)).story.story_id != "narrative-1.r2":
            assert told not in text_of(at(one, "stories/").document)
            vote(held)
        assert (told in text_of(at(one, "stories/").document)) == (one == person)


def test_what_cannot_be_saved_stays_in_the_form() -> None:
    client = signed_in(inspected())
    refused = client.post(f"{PAGE}revise/", FORM | {"reason": " "})
    assert refused.status_code == 422
    assert (
        'aria-invalid="true" aria-describedby="id_reason_helptext id_reason_error"'
        in refused.content.decode()
    )
    assert TEXT in refused.content.decode()
    same = ROWS[0]["narrative"].replace("\n", "\r\n")
    assert "\r\n" in same, "an unchanged text, whatever ends its lines"
    refused = client.post(f"{PAGE}revise/", FORM | {"narrative": same})
    assert "the same as the old one" in refused.content.decode()
    assert not StoryRevision.objects.exists()


def test_only_those_who_may_change_the_study_revise_and_only_while_it_runs() -> None:
    study = inspected()
    client = signed_in(study, "reviewer")
    assert client.get(f"{PAGE}revise/").status_code == 403
    assert client.post(f"{PAGE}revise/", FORM).status_code == 403
    assert "revise/" not in client.get(PAGE).content.decode()
    client = signed_in(study)
    actions.close_study(study=study, by=None, now=timezone.now())
    told = client.get(f"{PAGE}revise/", follow=True)
    assert told.redirect_chain[-1][0] == PAGE
    assert "open or paused" in told.content.decode()
    sent = client.post(f"{PAGE}revise/", FORM)
    assert sent.status_code == 422
    assert "<p>Stories are revised while their study is open or paused.</p>" in sent.content.decode()
    assert TEXT in sent.content.decode()
    assert "revise/" not in client.get(PAGE).content.decode()


def test_stories_of_other_protocols_are_not_revised() -> None:
    study = builders.make_study()
    story = study.stories.first()
    assert story
    assert signed_in(study).get(f"/studies/study/stories/{story.story_id}/revise/").status_code == 404


@pytest.mark.parametrize(
    ("old", "new", "taken_out", "put_in"),
    [
        ("a b c", "a x c", "b", "x"),
        ("", "new", "", "new"),
        ("gone", "", "gone", ""),
        ("one\n\ntwo", "one two", "\n\n", " "),
        ("a a a", "a a a a", "", "a "),
        ("b c", "a b c", "", "a "),
    ],
)
def test_a_passage_holds_what_differs(old: str, new: str, taken_out: str, put_in: str) -> None:
    before, was, now, after = changed_passage(old, new)
    assert (before + was + after, before + now + after) == (old, new)
    assert (len(was), len(now)) == (len(taken_out), len(put_in))


def test_long_texts_are_compared_at_once() -> None:
    old, new = " ".join(["a", "b"] * 2500), " ".join(["b", "a"] * 2500)
    begun = time.perf_counter()
    assert changed_passage(old, new)[1] == old
    assert time.perf_counter() - begun < 1
    assert changed_passage(f"{old} x {old}", f"{old} y {old}")[1:3] == ("x", "y")


def test_the_same_form_sent_twice_leads_to_the_new_version() -> None:
    client = signed_in(inspected())
    for _ in range(2):
        answer = client.post(f"{PAGE}revise/", FORM, follow=True)
        assert answer.redirect_chain[-1][0] == "/studies/study/stories/narrative-1.r2/"
        assert "narrative-1.r2 replaces narrative-1." in answer.content.decode()
    assert StoryRevision.objects.count() == 1
    other = client.post(f"{PAGE}revise/", FORM | {"narrative": "Another text of mine."})
    assert other.status_code == 422
    shown = other.content.decode()
    assert "revised already" in shown
    assert "Another text of mine." in shown
    assert 'href="/studies/study/stories/narrative-1.r2/"' in shown


def test_the_page_of_each_version_shows_all_steps_and_no_others() -> None:
    study = inspected()
    client = signed_in(study)
    second = revise(first(study))
    third = revise(second, "Lina leaves it by the door.")
    other = revise(study.stories.get(story_id="narrative-2"), "Tom puts the key away.")
    for story in (first(study), second, third):
        page = client.get(f"/studies/study/stories/{story.story_id}/").content.decode()
        assert page.count("<ins>") == 2
        assert other.story_id not in page.partition("Versions")[2]


def test_the_list_finds_old_versions_as_dropped_and_not_as_incomplete() -> None:
    study = inspected()
    client = signed_in(study)
    client.post(f"{PAGE}revise/", FORM)

    def found(verdict: str) -> list[str]:
        shown = client.get(f"/studies/study/stories/?verdict={verdict}").content.decode()
        return re.findall(r'stories/([^/"?]+)/[^"]*">narrative', shown)

    assert found("dropped") == ["narrative-1"]
    assert found("incomplete") == ["narrative-1.r2", "narrative-2"]
    listed = b"".join(client.get("/studies/study/stories/stories.csv"))
    assert b"narrative-1,dropped,revised," in listed
