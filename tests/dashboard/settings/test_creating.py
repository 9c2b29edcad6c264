"""Making a study in the browser: from a form, a file, another study; and what people will see of it."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone

from accounts.models import User
from annotation import actions
from annotation.models import ConsentText, Event, Membership, Story, Study
from dashboard.actions import load_sample_study
from dashboard.settings.configuration_export import configuration_of
from dashboard.settings.forms import NewStudyForm
from tests import builders
from tests.worlds import built_once

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("client")]

NEW, PREVIEW, FROM_FILE = "/studies/new/", "/studies/new/preview/", "/studies/new/from-file/"
GIVEN = {
    "title": "Which tins hold up?",
    "slug": "tins",
    "contact": "lab@university.example",
    "description": "You read <short> stories.",
    "protocol": "validity",
    "votes_per_story": "2",
    "most_votes": "",
    "decided_by": "all-agree",
    "story_cap": "50",
    "lease_minutes": "20",
    "change_hours": "0",
    "incomplete_after": "3",
    "skip_allowance": "4",
    "serving_order": "own",
    "option_order": "person",
    "pay_rate": "12.50",
    "currency": "EUR",
    "license": "CC0-1.0",
    "story_language": "pt-BR",
    "intake_questions": ["age", "country"],
    "intake_group": "7",
    "environment": "live",
    "test": "sample",
    "consent": "You may stop.\r\n\r\nWrite to {contact}.",
}


@pytest.fixture
@built_once
def sample() -> Study:
    return load_sample_study(now=timezone.now())


@pytest.fixture
def maker() -> User:
    someone = User.objects.create_user("maker", password=None)
    someone.user_permissions.add(Permission.objects.get(codename="add_study"))
    return User.objects.get(pk=someone.pk)


@pytest.fixture
def desk(maker: User) -> Client:
    client = Client()
    client.force_login(maker)
    return client


def shown(response: Any) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", response.content.decode()).split())


def test_a_study_is_made_whole(desk: Client, maker: User) -> None:
    response = desk.post(NEW, GIVEN)
    assert response["Location"] == "/studies/tins/settings/"
    study = Study.objects.get(slug="tins")
    assert (study.state, study.votes_per_story, study.story_cap, study.change_hours) == ("draft", 2, 50, 0)
    assert (str(study.pay_rate), study.currency, study.license) == ("12.50", "EUR", "CC0-1.0")
    assert (study.story_language, study.environment) == ("pt-BR", "live")
    assert ConsentText.objects.get(study=study).text == "You may stop.\n\nWrite to lab@university.example."
    assert study.gate == Study.Gate.READY
    assert study.stories.filter(role=Story.Role.QUALIFICATION).count() == 5
    assert Membership.objects.get(study=study, user=maker).role == Membership.Role.OWNER
    assert set(Event.objects.filter(study=study).values_list("actor", flat=True)) == {maker.pk}


def test_what_is_filled_in_is_the_published_procedure(desk: Client) -> None:
    form = desk.get(NEW).context["form"]
    usual = {name: form.initial[name] for name in ("protocol", "votes_per_story", "story_cap", "test")}
    assert usual == {"protocol": "validity", "votes_per_story": 3, "story_cap": 500, "test": "sample"}
    assert "{contact}" in form.initial["consent"]
    empty = {"pay_rate": "", "most_votes": ""}
    answer = desk.post(NEW, {**form.initial, **empty, "title": "T", "slug": "t", "contact": "a@b.org"})
    assert answer.status_code == 302, answer.context and answer.context["form"].errors
    assert Study.objects.get(slug="t").votes_per_story == 3


def test_what_people_do_first_and_whether_it_is_a_rehearsal_is_chosen(desk: Client) -> None:
    desk.post(NEW, GIVEN | {"test": "own", "environment": "rehearsal"})
    desk.post(NEW, GIVEN | {"test": "none", "slug": "second"})
    made = Study.objects.order_by("pk").values_list("slug", "gate", "environment")
    assert list(made) == [("tins", "missing", "rehearsal"), ("second", "not_required", "live")]


def test_what_is_wrong_stands_at_its_field_and_nothing_is_made(desk: Client) -> None:
    builders.make_study("taken", stories=0, opened=False)
    for field, wrong in (("votes_per_story", "three"), ("slug", "taken"), ("slug", "new")):
        response = desk.post(NEW, GIVEN | {field: wrong})
        assert response.status_code == 422
        assert field in response.context["form"].errors
        assert f'id="id_{field}_error"' in response.content.decode()
    assert Study.objects.count() == 1


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"title": ""}, "title"),
        ({"contact": "nobody"}, "contact"),
        ({"votes_per_story": "0"}, "votes_per_story"),
        ({"currency": "euro"}, "currency"),
        ({"consent": "  "}, "consent"),
        ({"slug": "no spaces"}, "slug"),
        ({"protocol": "multiple-choice"}, "test"),
        ({"protocol": "none"}, "protocol"),
        ({"pay_rate": "-1"}, "pay_rate"),
        ({"story_cap": "99999999999"}, "story_cap"),
        ({"environment": "nowhere"}, "environment"),
    ],
)
def test_what_cannot_be_set_is_said_of_its_field(wrong: dict[str, str], field: str) -> None:
    assert set(NewStudyForm(GIVEN).errors) == set()
    assert field in NewStudyForm(GIVEN | wrong).errors


def test_a_failing_step_leaves_nothing(desk: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**kwargs: Any) -> None:
        raise actions_error

    from annotation.errors import WrongState
    from dashboard import actions as dashboard_actions

    actions_error = WrongState("no round today")
    monkeypatch.setattr(dashboard_actions, "add_round", refuse)
    response = desk.post(NEW, GIVEN)
    assert "no round today" in shown(response)
    assert not Study.objects.exists()
    assert not Event.objects.exists()


def test_the_preview_shows_what_people_will_see_and_saves_nothing(desk: Client) -> None:
    page = desk.post(PREVIEW, GIVEN)
    words = shown(page)
    assert "You are invited to read short stories in the study “Which tins hold up?”" in words
    assert "You read &lt;short&gt; stories." in words
    assert "Write to lab@university.example." in words
    assert "The milk carton was filled with paint thinner" in words
    assert "2 participants read each story; each participant reads at most 50." in words
    assert '<fieldset class="sheet" disabled>' in page.content.decode()
    assert not Study.objects.exists()


def test_a_half_filled_form_has_a_preview_too(desk: Client) -> None:
    assert "A story" in shown(desk.post(PREVIEW, GIVEN | {"votes_per_story": "x", "protocol": "?"}))
    assert "What will Rosa likely do next?" in shown(desk.post(PREVIEW, {"protocol": "multiple-choice"}))
    assert "Strongly disagree Strongly agree 1 , Strongly disagree 2 3" in shown(
        desk.post(PREVIEW, {"protocol": "ratings"})
    )


def test_the_part_beside_the_form_is_the_part_of_the_page(desk: Client) -> None:
    def preview(response: Any) -> str:
        found = re.search(
            r'<section id="preview".*?</section>\s*(?=</div>|</main>)', response.content.decode(), re.S
        )
        assert found
        return found[0]

    full = desk.get(NEW)
    usual = {**full.context["form"].initial, "pay_rate": "", "most_votes": ""}
    assert preview(full).split() == preview(desk.post(PREVIEW, usual, headers={"HX-Request": "true"})).split()


def test_making_studies_is_for_makers() -> None:
    other = Client()
    other.force_login(User.objects.create_user("other", password=None))
    for address in (NEW, PREVIEW, FROM_FILE):
        assert Client().post(address)["Location"].startswith("/sign-in/")
        assert other.post(address).status_code == 403


def test_a_study_from_a_file(sample: Study, desk: Client, maker: User) -> None:
    document = configuration_of(sample, now=timezone.now())
    file = SimpleUploadedFile("study.json", json.dumps(document).encode())
    response = desk.post(FROM_FILE, {"slug": "again", "file": file})
    assert response["Location"] == "/studies/again/settings/"
    again = Study.objects.get(slug="again")
    assert configuration_of(again, now=timezone.now()) == document
    assert Membership.objects.get(study=again).user == maker


def test_everything_that_is_wrong_in_a_file(desk: Client) -> None:
    file = SimpleUploadedFile("study.json", b'{"stories": ["x.jsonl"]}')
    response = desk.post(FROM_FILE, {"slug": "again", "file": file})
    assert response.status_code == 422
    assert "consent: is missing." in shown(response)
    assert "stories: names the file x.jsonl, which is not here" in shown(response)
    assert not Study.objects.exists()


def test_every_place_where_stories_and_their_key_do_not_fit_is_a_line_of_its_own(
    sample: Study, desk: Client
) -> None:
    document = configuration_of(sample, now=timezone.now())
    key = document["qualification"]["key"]["stories"]
    first, second, *_others = sorted(key)
    del key[first], key[second]["q1"]
    file = SimpleUploadedFile("study.json", json.dumps(document).encode())
    response = desk.post(FROM_FILE, {"slug": "again", "file": file})
    assert response.status_code == 422
    errors = response.context["form"].non_field_errors()
    assert sum(first in text for text in errors) >= 1
    assert sum(second in text for text in errors) == 1
    assert len(errors) > 1


def test_a_clone_has_the_configuration_and_nothing_else(sample: Study, desk: Client, maker: User) -> None:
    assert desk.get("/studies/sample/settings/clone/").status_code == 404
    actions.set_role(study=sample, user=maker, role=Membership.Role.RESEARCHER, by=None, now=timezone.now())
    page = desk.get("/studies/sample/settings/clone/")
    assert page.context["form"].initial["slug"] == "sample-real"
    (chosen,) = re.findall(r'<input[^>]*name="environment"[^>]*checked[^>]*>', page.content.decode())
    assert 'value="live"' in chosen, "real by default"
    second = {"title": "Second", "slug": "second", "environment": "rehearsal"}
    response = desk.post("/studies/sample/settings/clone/", second)
    assert response["Location"] == "/studies/second/settings/"
    copies = [
        configuration_of(Study.objects.get(slug=slug), now=timezone.now()) for slug in ("sample", "second")
    ]
    assert copies[1] == copies[0] | {"title": "Second"}
    assert not Study.objects.get(slug="second").stories.filter(role=Story.Role.MAIN).exists()
    again = desk.post("/studies/sample/settings/clone/", second)
    assert "slug" in again.context["form"].errors


def test_the_real_study_is_made_of_a_rehearsal_and_may_take_its_stories(
    sample: Study, desk: Client, maker: User
) -> None:
    actions.set_role(study=sample, user=maker, role=Membership.Role.RESEARCHER, by=None, now=timezone.now())
    assert "Create the live study" in shown(desk.get("/studies/sample/settings/"))
    desk.post("/studies/sample/settings/clone/", {"title": "S", "environment": "live", "stories": "on"})
    made = Study.objects.get(slug="s")
    assert (made.environment, made.gate, made.state) == ("live", Study.Gate.READY, "draft")
    assert "Create the live study" not in shown(desk.get("/studies/s/settings/"))
    job = made.imports.get(role=Story.Role.MAIN)
    assert job.state == "queued", "a worker imports them"
    actions.run_import(story_import_id=job.pk, now=timezone.now())
    main = [
        list(one.stories.filter(role=Story.Role.MAIN).order_by("pk").values_list("content_hash", "order_key"))
        for one in (sample, made)
    ]
    assert main[0] == main[1] != []


def test_an_empty_short_name_is_made_from_the_title(desk: Client) -> None:
    titled = GIVEN | {"slug": "", "test": "none"}
    for title in ("Tins & Crates, round two", "Tins & Crates, round two", "New"):
        assert desk.post(NEW, titled | {"title": title}).status_code == 302
    assert set(Study.objects.values_list("slug", flat=True)) == {
        "tins-crates-round-two",
        "tins-crates-round-two-2",
        "new-2",
    }


def test_who_may_change_but_not_make_does_not_clone(maker: User) -> None:
    study = builders.make_study("main", stories=1)
    someone = User.objects.create_user("owner", password=None)
    actions.set_role(study=study, user=someone, role=Membership.Role.OWNER, by=None, now=timezone.now())
    client = Client()
    client.force_login(someone)
    assert client.get("/studies/main/settings/clone/").status_code == 403
    assert "/clone/" not in client.get("/studies/main/settings/").content.decode()
