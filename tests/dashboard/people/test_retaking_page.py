"""The page of a person's tests and visits, from which they are let take the test again."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import Enrollment, Event, WorkSession
from annotation.rules import pseudonym
from qualification.models import Attempt
from recruitment.models import Campaign
from tests import builders
from tests.dashboard.test_roles import Role, client_of, member
from tests.recruitment.platform_visits import come, newest_visit, publish_campaign
from tests.worlds import built_once

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("client")]


@pytest.fixture
@built_once
def trial() -> Campaign:
    """A test, taken and failed in the name of a worker who then comes with another HIT."""
    study = builders.make_study(stories=2, qualification=1)
    trial = publish_campaign(study, purpose="test")
    come(trial, assignmentId="3FORGED")
    builders.take_test(builders.consent(newest_visit().enrollment), builders.answers(q1="no"))
    come(trial, assignmentId="3REAL")
    return trial


def address() -> str:
    person = Enrollment.objects.select_related("study").get()
    name = pseudonym(person.study.pseudonym_key, person.annotator_id)
    return reverse("dashboard:tests", args=[person.study.slug, name])


def form(client: Client) -> dict[str, str]:
    """What the form on the page sends, with somebody else's test given up and a reason."""
    (seen,) = re.findall(r'name="seen" value="([0-9]+)"', client.get(address()).content.decode())
    return {"seen": seen, "reason": "They wrote that it was not them.", "somebody_else": "on"}


def test_it_says_which_visits_are_proven_and_asks_whether_it_was_somebody_else(trial: Campaign) -> None:
    page = client_of(member(trial.study, Role.RESEARCHER)).get(address()).content.decode()

    assert "Two visits claim to be this participant" in page
    assert "not passed" in page
    assert page.count("identity not confirmed by the platform") == 2
    assert "Let them retake the test" in page
    assert "checked" in page.split('name="somebody_else"')[1][:100]


def test_it_lets_them_take_the_test_again_once_and_the_log_says_who_did_and_why(trial: Campaign) -> None:
    researcher = member(trial.study, Role.RESEARCHER)
    client = client_of(researcher)
    sent = form(client)
    page = client.post(address(), sent, follow=True).content.decode()

    assert Enrollment.objects.get().state == Enrollment.State.INVITED
    assert "void" in page
    assert "Two visits claim to be this participant" not in page
    assert "Let them retake the test" not in page
    assert "test or consent has changed" in client.post(address(), sent, follow=True).content.decode()
    event = Event.objects.get(type=Event.Type.TEST_GIVEN_BACK)
    assert (event.actor, event.note) == (researcher, "They wrote that it was not them.")


def test_without_a_reason_nothing_changes(trial: Campaign) -> None:
    client = client_of(member(trial.study, Role.RESEARCHER))

    refused = client.post(address(), form(client) | {"reason": " "})

    assert refused.status_code == 422
    assert 'id="id_reason_error">This field is required.' in refused.content.decode()
    assert Enrollment.objects.get().state == Enrollment.State.FAILED


def test_a_page_from_before_they_took_the_test_themselves_changes_nothing(trial: Campaign) -> None:
    client = client_of(member(trial.study, Role.RESEARCHER))
    seen_before = form(client)
    client.post(address(), seen_before)
    come(trial, assignmentId="3REAL")
    builders.take_test(builders.consent(newest_visit().enrollment))

    page = client.post(address(), seen_before, follow=True).content.decode()

    assert "test or consent has changed" in page
    assert Enrollment.objects.get().state == Enrollment.State.QUALIFIED
    assert Event.objects.filter(type=Event.Type.TEST_GIVEN_BACK).count() == 1
    assert Attempt.objects.order_by("-pk")[0].state == Attempt.State.SUBMITTED
    session = newest_visit().session
    assert session is not None
    assert session.state == WorkSession.State.OPEN


def test_a_form_that_does_not_say_what_was_seen_changes_nothing(trial: Campaign) -> None:
    client = client_of(member(trial.study, Role.RESEARCHER))

    page = client.post(address(), form(client) | {"seen": "the newest"}).content.decode()

    assert "Enter a whole number." in page
    assert Enrollment.objects.get().state == Enrollment.State.FAILED


def test_who_may_only_look_sees_no_form(trial: Campaign) -> None:
    page = client_of(member(trial.study, Role.AUDITOR)).get(address()).content.decode()

    assert "not passed" in page
    assert "<button" not in page.split("<main")[1]
