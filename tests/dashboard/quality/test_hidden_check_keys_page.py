"""The page on which the accepted answers of several hidden checks are set at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from lxml import html

from accounts.actions import ensure_researcher
from accounts.models import User
from annotation import actions
from annotation.models import CheckKey, Event, Membership, Story, Study
from dashboard.quality.pages import hidden_checks
from qualification import actions as qualification_actions
from tests import builders

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("client")]

ADDRESS = "/studies/study/quality/hidden-checks/answers/"
YES = {"q1": ["yes"], "q2": ["yes"], "q3": ["yes"], "q4": ["yes"]}


@pytest.fixture
def study() -> Study:
    return builders.make_study(stories=12, votes_per_story=5)


@pytest.fixture
def boss(study: Study) -> Client:
    client = Client()
    client.force_login(ensure_researcher(username="boss", password="a long enough password"))
    return client


def add_checks(study: Study, count: int) -> list[Story]:
    rows = [builders.story_row(number, prefix="known") for number in range(500, 500 + count)]
    return builders.import_rows(study, rows, role=Story.Role.CHECK)


def form(*stories: Story, ticked: Mapping[str, list[str]] = YES, after: int = 0) -> dict[str, Any]:
    """What the page sends of these rows, all ticked alike."""
    sent: dict[str, Any] = {"check": [story.pk for story in stories]}
    for story in stories:
        sent |= {f"check-{story.pk}-{name}": options for name, options in ticked.items()}
        sent[f"check-{story.pk}-after"] = after
    return sent


def together(*forms: dict[str, Any]) -> dict[str, Any]:
    """Several of :func:`form` as one."""
    whole: dict[str, Any] = {}
    for one in forms:
        whole |= one | {"check": whole.get("check", []) + one["check"]}
    return whole


def accepted(story: Story) -> dict[str, list[str]]:
    """What the key that stands accepts."""
    found: dict[str, list[str]] = {}
    for option in CheckKey.objects.exclude(state="replaced").get(story=story).options.order_by("option"):
        found.setdefault(option.question, []).append(option.option)
    return found


def parsed(page: Any) -> Any:
    return html.document_fromstring(page.content.decode())


def ids(page: Any) -> list[str]:
    return [" ".join(heading.text_content().split()) for heading in parsed(page).xpath("//section//h2")]


def test_one_save_sets_the_answers_of_several_checks(boss: Client, study: Study) -> None:
    first, second, blank = add_checks(study, 3)
    assert ids(boss.get(ADDRESS)) == [check.story_id for check in (first, second, blank)]
    assert f'href="{ADDRESS}"' in boss.get("/studies/study/quality/hidden-checks/").content.decode()

    sent = together(
        form(first, ticked=YES | {"q1": ["yes", "possibly"]}), form(second), form(blank, ticked={})
    )
    saved = boss.post(ADDRESS, sent, follow=True)

    assert saved.redirect_chain == [("/studies/study/quality/hidden-checks/", 302)]
    assert "2 checks have these known answers" in saved.content.decode()
    assert accepted(first) == YES | {"q1": ["possibly", "yes"]}
    assert accepted(second) == YES
    assert not CheckKey.objects.filter(story=blank).exists()
    assert Event.objects.filter(type=Event.Type.CHECKS_CHANGED, actor__username="boss").count() == 2
    assert ids(boss.get(ADDRESS))[0] == blank.story_id, "those without answers come first"


def test_mistakes_are_told_by_row_and_nothing_is_saved(boss: Client, study: Study) -> None:
    whole, partial = add_checks(study, 2)
    sent = together(form(whole), form(partial, ticked={"q1": ["yes"], "q2": ["no"], "q4": ["yes"]}))
    refused = boss.post(ADDRESS, sent)

    assert refused.status_code == 422
    assert not CheckKey.objects.exists()
    (problem,) = refused.context["problems"]
    assert problem["where"].startswith(partial.story_id)
    assert "Accept at least one answer." in problem["text"]
    page = parsed(refused)
    (marked,) = page.xpath("//section//fieldset[p[@class='error']]")
    assert marked.get("id") == problem["id"]
    assert len(page.xpath("//section//input[@checked]")) == 4 + 3, "what was ticked stays so"


def test_a_row_that_is_left_as_it_was_gets_no_new_version(boss: Client, study: Study) -> None:
    same, changed = add_checks(study, 2)
    boss.post(ADDRESS, form(same, changed))
    boss.post(ADDRESS, together(form(same, after=1), form(changed, after=1, ticked=YES | {"q1": ["no"]})))
    assert same.check_keys.count() == 1
    assert changed.check_keys.count() == 2
    assert accepted(changed)["q1"] == ["no"]
    assert "Nothing was changed" in boss.post(ADDRESS, form(same, after=1), follow=True).content.decode()

    emptied = boss.post(ADDRESS, form(same, ticked={}, after=1))
    assert len(emptied.context["problems"]) == 4, "a key is not taken away by unticking"
    assert accepted(same) == YES


def test_what_somebody_else_has_set_meanwhile_is_not_overwritten_unseen(boss: Client, study: Study) -> None:
    other, stale = add_checks(study, 2)
    actions.set_check_key(story=stale, accepted=builders.ACCEPTED, by=None, now=timezone.now())
    refused = boss.post(ADDRESS, form(other, stale))
    assert refused.status_code == 422
    (problem,) = refused.context["problems"]
    assert problem["where"] == stale.story_id
    assert "Somebody else changed this check’s answers" in refused.content.decode()
    assert not other.check_keys.exists(), "all or none"
    assert accepted(stale) == builders.ACCEPTED | {"q1": ["possibly", "yes"], "q2": ["possibly", "yes"]}

    boss.post(ADDRESS, together(form(other), form(stale, after=1)))
    assert accepted(other) == accepted(stale) == YES


def test_answers_by_which_people_were_judged_stay(boss: Client, study: Study) -> None:
    (judged,) = builders.add_checks(study, 1, every=5)
    (person,) = builders.qualified(study)
    builders.work_through(person, 5)
    assert ids(boss.get(ADDRESS)) == []
    refused = boss.post(ADDRESS, form(judged, after=1))
    assert (
        "These answers have already been used to check participants" in refused.context["problems"][0]["text"]
    )
    assert judged.check_keys.count() == 1


def test_texts_that_somebody_answers_blind_are_not_on_the_page(study: Study) -> None:
    row = builders.story_row(500, prefix="known")
    check, other = builders.import_rows(
        study, [row, builders.story_row(501, prefix="known")], role=Story.Role.CHECK
    )
    elsewhere = builders.make_study("elsewhere", stories=1, opened=False, qualification_required=True)
    asked = builders.make_round(elsewhere, [row | {"story_id": "test", "core_id": "test"}])
    expert = User.objects.create_user("ada", password=None)
    now = timezone.now()
    actions.set_role(study=elsewhere, user=expert, role=Membership.Role.REVIEWER, by=None, now=now)
    qualification_actions.ask_experts(round=asked, experts=[expert], by=None, now=now)
    actions.set_role(study=study, user=expert, role=Membership.Role.RESEARCHER, by=None, now=now)
    client = Client()
    client.force_login(expert)

    page = client.get(ADDRESS)
    assert ids(page) == [other.story_id]
    assert "hidden until you have handed in" in page.content.decode()
    client.post(ADDRESS, form(check, other))
    assert not check.check_keys.exists()
    assert accepted(other) == YES


def test_a_page_has_a_bounded_number_of_rows(
    boss: Client, study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hidden_checks, "MOST_ROWS", 2)
    made = add_checks(study, 3)
    page = boss.get(ADDRESS)
    assert len(ids(page)) == 2
    assert "shows 2 of 3 checks" in page.content.decode()
    boss.post(ADDRESS, form(*made[:2]))
    assert ids(boss.get(ADDRESS))[0] == made[2].story_id
