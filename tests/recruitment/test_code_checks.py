"""Completion codes on the last page, and what a researcher learns from one that was handed in."""

from __future__ import annotations

import json

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from recruitment.codes import CompletionOutcome, completion_code
from recruitment.models import JoinLink
from tests import builders
from tests.annotation.pages import at
from tests.recruitment.joining import PARTICIPANT, WAY_BACK, joined, make_join_link

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("client")]


@pytest.fixture
def link() -> JoinLink:
    return make_join_link(builders.make_study(stories=2, votes_per_story=1))


def test_the_code_and_the_way_back_stand_on_the_last_page() -> None:
    link = make_join_link(builders.make_study(stories=1, votes_per_story=1), **WAY_BACK)
    person = builders.consent(joined(link))
    builders.answer_everything([person])

    browser = at(person, "hand-in/")

    code = completion_code(link.study.pseudonym_key, person.pk, CompletionOutcome.COMPLETED)
    assert browser.document.xpath("//output[@id='completion-code']/text()") == [code]
    (back,) = browser.document.xpath("//a[starts-with(@href, 'https://')]/@href")
    assert back == f"https://app.example.org/done?cc={code}&p={PARTICIPANT}"


def test_somebody_who_may_go_on_is_shown_no_code_instead(link: JoinLink) -> None:
    (person,) = builders.qualified(link.study)
    assert not at(person, "stories/").document.xpath("//output[@id='completion-code']")


def test_a_code_says_whose_it_is_and_whether_it_is_the_newest(
    link: JoinLink, capsys: pytest.CaptureFixture[str]
) -> None:
    person = builders.consent(joined(link))
    code = completion_code(link.study.pseudonym_key, person.pk, CompletionOutcome.NO_WORK)
    call_command("check_code", "study", code.lower().replace("-", " "), participant=PARTICIPANT, json=True)
    assert json.loads(capsys.readouterr().out) == {
        "enrollment": person.pk, "outcome": "no work left", "still_true": True, "state": "qualified",
        "stories_submitted": 0, "is_theirs": True, "pseudonym": person.pseudonym, "why_ended": "",
    }  # fmt: skip

    builders.vote(person)
    call_command("check_code", "study", code)
    said = capsys.readouterr().out
    assert f"The code of {person.pseudonym}, for: no work left." in said
    assert "Their code has changed since" in said


def test_a_code_that_was_shared_is_somebody_elses(link: JoinLink) -> None:
    person, other = joined(link), joined(link, "another")
    code = completion_code(link.study.pseudonym_key, person.pk, CompletionOutcome.SCREENED_OUT)

    with pytest.raises(CommandError, match="another participant") as error:
        call_command("check_code", "study", code, participant="another")
    assert error.value.returncode == 1
    assert other.pk != person.pk


@pytest.mark.parametrize("code", ["AAAAA-AAAAA", "", "completed"])
def test_a_made_up_code_is_nobodys(link: JoinLink, code: str) -> None:
    joined(link)
    with pytest.raises(CommandError, match="is no completion code of “study”"):
        call_command("check_code", "study", code)


def test_researchers_check_a_code_on_a_page(link: JoinLink, admin_client: Client) -> None:
    person = joined(link)
    code = completion_code(link.study.pseudonym_key, person.pk, CompletionOutcome.SCREENED_OUT)
    url = "/studies/study/recruitment/join-link/"

    def said(**data: str) -> str:
        page = admin_client.post(url, data)
        assert page.status_code == 200
        return " ".join(page.content.decode().split())

    assert f"The code of {person.pseudonym}: screened out." in said(code=code)
    assert "It belongs to this participant." in said(code=code, participant=PARTICIPANT)
    assert "It does not belong to this participant." in said(code=code, participant="another")
    assert "This is not a completion code of this study." in said(code="AAAAA-AAAAA")
    assert admin_client.post(url, {"code": ""}).status_code == 422
