"""The join link is made, looked at, changed and closed on the study's pages."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import lxml.html
import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.actions import ensure_researcher
from annotation.models import Event, Study
from recruitment import actions
from recruitment.models import JoinLink
from tests import builders

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("client")]

FORM, PAGE, CLOSE = (
    reverse(f"dashboard:{name}", args=["study"])
    for name in ("change_join_link", "join_link", "close_join_link")
)
BACK = "https://school.sona-systems.com/webstudy_credit.aspx?experiment_id=1&survey_code={participant}"


@pytest.fixture
def boss() -> Client:
    builders.make_study()
    client = Client()
    client.force_login(ensure_researcher(username="researcher", password="unguessable-1"))
    return client


def parsed(page: Any) -> Any:
    return lxml.html.fromstring(page.content.decode())


def filled_in(page: Any) -> dict[str, str]:
    """What the form on the page would send as it stands."""
    form = parsed(page).xpath("//form[.//*[@name='parameter']]")[0]
    return {name: value for name, value in form.form_values() if name != "csrfmiddlewaretoken"}


def said(page: Any) -> str:
    return " ".join(parsed(page).text_content().split())


def test_a_link_is_made_for_a_platform_and_shown_as_it_is_to_be_pasted(boss: Client) -> None:
    sent = filled_in(boss.get(f"{FORM}?platform=sona")) | {"return_url": BACK}

    looked = said(boss.post(FORM, sent | {"look": "1"}))
    for words in ("usual settings of a platform", "too few stories, or none left", "Cancel"):
        assert words in looked
    assert "http://testserver/join/study/?survey_code=%SURVEY_CODE%" in looked
    assert "survey_code=participant-1" in looked
    assert not JoinLink.objects.exists(), "looking saves nothing"

    assert boss.post(FORM, sent).status_code == 302
    page = boss.get(PAGE)
    assert "http://testserver/join/study/?survey_code=%SURVEY_CODE%" in said(page)
    assert "the code only" in said(page), "SONA's address says completed, so it is for those alone"
    link = JoinLink.objects.get()
    assert link.source == f"study-{link.study_id}"
    event = Event.objects.get(type=Event.Type.JOIN_LINK_SET)
    assert event.actor is not None
    assert f"return_url {BACK}" in event.note


def test_what_cannot_be_used_stands_at_its_field_and_changes_nothing(boss: Client) -> None:
    made = actions.set_join_link(study=Study.objects.get(), by=None, now=timezone.now(), source="pool")
    actions.join(link=made, participant="first-one", now=timezone.now())
    sent = filled_in(boss.get(FORM))
    assert sent["source"] == "pool"
    for wrong, words in (
        ({"parameter": "a b"}, "is not a name like"),
        ({"source": "other"}, "they would count as new"),
        ({"return_url": "http://app.example.org/"}, "must begin with https://"),
        ({"return_url": "https://[app/"}, "must begin with https://"),
        ({"leave_url": "https://app.example.org/{code}"}, "has no code"),
    ):
        refused = boss.post(FORM, sent | wrong)
        assert refused.status_code == 422
        (field,) = wrong
        error = parsed(refused).get_element_by_id(f"id_{field}_error")
        assert words in error.text_content()
    two = sent | {"return_url": "http://app.example.org/", "most_people": "many"}
    assert "Constraint" not in said(boss.post(FORM, two))
    made.refresh_from_db()
    assert (made.source, made.return_url) == ("pool", "")


def test_a_link_is_closed_and_opened_again(boss: Client) -> None:
    study = Study.objects.get()
    actions.set_join_link(study=study, by=None, now=timezone.now())
    assert "Newcomers can join while the study is open." in said(boss.get(PAGE))
    builders.answer_everything(builders.qualified(study, 3))
    assert "Newcomers who join now find no story" in said(boss.get(PAGE))
    assert "Close the link to newcomers" in said(boss.get(PAGE))
    closed = boss.post(CLOSE, follow=True)
    assert "The link is closed to newcomers." in said(closed)
    assert Client().get("/join/study/?participant=late-one").status_code == 200  # told so
    assert study.enrollments.count() == 3
    later = timezone.now() + timedelta(days=1)
    boss.post(FORM, filled_in(boss.get(FORM)) | {"closes_at": f"{later:%Y-%m-%dT%H:%M}", "most_people": "1"})
    assert Client().get("/join/study/?participant=early-one").status_code == 302
    assert "1 of at most 1 participants has joined" in said(boss.get(PAGE))
