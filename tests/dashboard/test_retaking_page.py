"""The page of a person's tests and visits, from which they are let take the test again."""

from __future__ import annotations

import pytest
from django.urls import reverse

from annotation.models import Enrollment, Event
from annotation.rules import pseudonym
from recruitment.models import Campaign
from tests import builders
from tests.dashboard.test_roles import Role, client_of, member
from tests.recruitment.platform_visits import come, newest_visit, put_up

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("client")]


@pytest.fixture
def trial() -> Campaign:
    """A test, taken and failed in the name of a worker who then comes with another HIT."""
    study = builders.make_study(stories=2, qualification=1)
    trial = put_up(study, purpose="test")
    come(trial, assignmentId="3FORGED")
    builders.take_test(builders.consent(newest_visit().enrollment), builders.answers(q1="no"))
    come(trial, assignmentId="3REAL")
    return trial


def address() -> str:
    person = Enrollment.objects.select_related("study").get()
    name = pseudonym(person.study.pseudonym_key, person.annotator_id)
    return reverse("dashboard:tests", args=[person.study.slug, name])


def test_it_says_which_visits_are_proven_and_asks_whether_it_was_somebody_else(trial: Campaign) -> None:
    page = client_of(member(trial.study, Role.RESEARCHER)).get(address()).content.decode()

    assert "Two visits say to be this person" in page
    assert "not passed" in page
    assert page.count("who it was is only what the address said") == 2
    assert "Let them take the test again" in page
    assert "checked" in page.split('name="somebody_else"')[1][:100]


def test_it_lets_them_take_the_test_again_and_the_log_says_who_did_and_why(trial: Campaign) -> None:
    researcher = member(trial.study, Role.RESEARCHER)

    said = {"reason": "They wrote that it was not them.", "somebody_else": "on"}
    page = client_of(researcher).post(address(), said, follow=True).content.decode()

    assert Enrollment.objects.get().state == Enrollment.State.INVITED
    event = Event.objects.get(type=Event.Type.TEST_GIVEN_BACK)
    assert (event.actor, event.note) == (researcher, "They wrote that it was not them.")
    assert "void" in page
    assert "Two visits say to be this person" not in page
    assert "Let them take the test again" not in page


def test_without_a_reason_nothing_changes(trial: Campaign) -> None:
    client = client_of(member(trial.study, Role.RESEARCHER))

    page = client.post(address(), {"reason": " "}, follow=True).content.decode()

    assert "Give the reason in 1 to 300 characters" in page
    assert Enrollment.objects.get().state == Enrollment.State.FAILED


def test_who_may_only_look_sees_no_form(trial: Campaign) -> None:
    page = client_of(member(trial.study, Role.AUDITOR)).get(address()).content.decode()

    assert "not passed" in page
    assert "<button" not in page.split("<main")[1]
