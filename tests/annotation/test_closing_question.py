"""The closing question about AI tools: asked at the end of those who voted, answered again, and forgotten."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from annotation import actions
from annotation.models import Enrollment, Event, IntakeAnswer, Study
from tests import builders
from tests.annotation.pages import HTMX, token_of

pytestmark = pytest.mark.django_db
QUESTION = "Did you use an AI tool, such as a chatbot, for any of your answers?"


def asking(**settings: Any) -> Study:
    return builders.make_study("asking", stories=1, **({"intake_questions": ["ai_tools"]} | settings))


def at(person: Enrollment, page: str) -> str:
    return f"/work/{token_of(person)}/{page}"


def part(address: str) -> str:
    """An address after its token, which is another one every second."""
    return re.sub(r"^/work/[^/]+/", "", address)


def said(person: Enrollment) -> dict[str, str]:
    return dict(person.intake_answers.values_list("question", "option"))


def answer(person: Enrollment, option: str) -> None:
    given = {"ai_tools": option}
    actions.answer_intake(enrollment=person, given=given, now=timezone.now(), at_end=True)


@pytest.mark.parametrize("headers", [{}, HTMX], ids=["plain", "htmx"])
def test_the_last_answer_leads_to_it_once(client: Client, headers: dict[str, str]) -> None:
    (person,) = builders.qualified(asking())
    form = builders.ALL_YES | {"assignment": str(builders.claim(person).pk)}
    sent = client.post(at(person, "stories/"), form, headers=headers)
    if not headers:
        sent = client.get(sent["Location"])
    closing = sent["HX-Redirect" if headers else "Location"]
    assert part(closing).startswith("closing/?next=")
    page = client.get(closing).content.decode()
    assert QUESTION in page
    assert "does not change your pay" in page
    assert page.count("<option") == 4
    after = client.post(closing, {"ai_tools": "some"})
    assert part(after["Location"]).startswith("stories/")
    assert said(person) == {"ai_tools": "some"}
    assert "no stories left" in client.get(at(person, "stories/")).content.decode()
    event = Event.objects.get(type=Event.Type.INTAKE_ANSWERED)
    assert "some" not in event.subject + event.note


def test_left_out_it_is_not_asked_again(client: Client) -> None:
    (person,) = builders.qualified(asking())
    builders.vote(person)
    closing = client.get(at(person, "done/"))["Location"]
    client.post(closing, {})
    assert said(person) == {"ai_tools": ""}
    assert client.get(at(person, "done/")).status_code == 200


def test_it_is_answered_again_from_the_own_page_and_never_shows_what_was_said(client: Client) -> None:
    (person,) = builders.qualified(asking())
    builders.vote(person)
    answer(person, "most")
    assert "/closing/" in client.get(at(person, "you/")).content.decode()
    assert "selected" not in client.get(at(person, "closing/")).content.decode()
    client.post(at(person, "closing/"), {"ai_tools": "none"})
    assert said(person) == {"ai_tools": "none"}


@pytest.mark.parametrize("where", ["done/", "stories/"])
def test_only_a_study_that_asks_leads_to_it(client: Client, where: str) -> None:
    (person,) = builders.qualified(asking(intake_questions=["age"]))
    builders.vote(person)
    assert client.get(at(person, where)).status_code == 200
    assert part(client.get(at(person, "closing/"))["Location"]) == ""
    answer(person, "most")
    assert said(person) == {}


def test_whoever_has_not_voted_or_has_left_is_not_asked(client: Client) -> None:
    voter, other = builders.qualified(asking(), 2)
    builders.vote(voter)
    actions.withdraw(enrollment=voter, now=timezone.now())
    for person in (voter, other):
        answer(person, "most")
        assert said(person) == {}
        assert "closing" not in client.get(at(person, "done/")).headers.get("Location", "")
        assert part(client.get(at(person, "closing/"))["Location"]) == ""


def test_nobody_is_sent_elsewhere_from_it(client: Client) -> None:
    (person,) = builders.qualified(asking())
    builders.vote(person)
    for elsewhere in ("https://elsewhere.example/", "//elsewhere.example", "/studies/"):
        sent = client.post(f"{at(person, 'closing/')}?next={elsewhere}", {"ai_tools": "none"})
        assert part(sent["Location"]) == ""


def test_it_stands_beside_the_questions_before_the_work(client: Client) -> None:
    (person,) = builders.invite(asking(intake_questions=["age", "ai_tools"]))
    agreed = client.post(at(person, "consent/"), {"decision": "agree"})
    page = client.get(agreed["Location"]).content.decode()
    assert page.count("<select") == 1
    assert QUESTION not in page
    client.post(agreed["Location"], {"age": "25-34", "ai_tools": "most"})
    assert said(person) == {"age": "25-34"}
    builders.vote(person)
    answer(person, "none")
    assert said(person) == {"age": "25-34", "ai_tools": "none"}
    actions.answer_intake(enrollment=person, given={"age": "65+"}, now=timezone.now())
    assert said(person)["age"] == "25-34"


def test_it_is_forgotten_with_the_person() -> None:
    (person,) = builders.qualified(asking())
    builders.vote(person)
    answer(person, "some")
    actions.forget(annotator=person.annotator, now=timezone.now())
    assert not IntakeAnswer.objects.exists()
