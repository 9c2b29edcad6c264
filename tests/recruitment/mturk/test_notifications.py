"""Notifications as they came: repeated, in no order, from a topic that anybody could claim to be."""

from __future__ import annotations

import json
import logging
from base64 import b64encode
from decimal import Decimal
from typing import Any

import pytest
from django.core.cache import caches
from django.test import Client

from annotation.models import Study
from recruitment import actions
from recruitment.models import Campaign
from recruitment.mturk.notifications import EVENT_TYPES
from tests.builders import make_study
from tests.doubles.mturk.client import marketplace_for
from tests.doubles.mturk.server import MTurkDouble
from tests.recruitment.campaigns import make_campaign
from tests.recruitment.mturk.test_marketplace import handed_in
from tomannot.celery import app

TOPIC, PASSWORD = "arn:aws:sns:us-east-1:123456789012:hits", "a password"
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("client")]


@pytest.fixture
def queued(monkeypatch: pytest.MonkeyPatch) -> list[list[Any]]:
    """The arguments of what has been queued."""
    sent: list[list[Any]] = []
    monkeypatch.setattr(app, "send_task", lambda name, args, **_: sent.append([name, *args]))
    return sent


@pytest.fixture(autouse=True)
def account(settings: Any) -> None:
    live = {**settings.MTURK["live"], "notification_topic": TOPIC, "notification_password": PASSWORD}
    settings.MTURK = {**settings.MTURK, "live": live}


def post(
    client: Client, message: dict[str, Any], *, password: str = PASSWORD, environment: str = "live"
) -> Any:
    login = "Basic " + b64encode(f"tomannot:{password}".encode()).decode()
    return client.post(
        f"/hooks/mturk/{environment}/",
        json.dumps(message),
        content_type="text/plain; charset=UTF-8",  # as SNS has it
        headers={"Authorization": login},
    )


def on_the_platform(study: Study, double: MTurkDouble) -> Campaign:
    campaign = make_campaign(study, reward=Decimal("0.25"))
    turk = marketplace_for(double, topic=TOPIC)
    actions.start_campaign(campaign=campaign, marketplace=turk, by=None, now=double.world.now())
    campaign.refresh_from_db()
    return actions.carry_out(campaign=campaign, marketplace=turk, now=double.world.now())


def test_a_notification_makes_us_look_sooner_once(
    client: Client, queued: list[list[Any]], django_capture_on_commit_callbacks: Any
) -> None:
    with MTurkDouble() as double:
        campaign = on_the_platform(make_study(), double)
        for posting in campaign.postings.all():
            handed_in(double, posting.remote_id)
        messages = double.world.post.collect()
    with django_capture_on_commit_callbacks(execute=True):
        answers = {post(client, message).status_code for message in [*messages, *messages]}

    assert double.defects == []
    assert (len(messages) >= 3, answers) == (True, {204})
    assert queued == [["recruitment.tasks.reconcile", campaign.pk]]
    with django_capture_on_commit_callbacks(execute=True):
        caches["shared"].delete(f"hinted-{campaign.pk}")  # some time later
        assert {post(client, message).status_code for message in messages} == {204}
    assert len(queued) == 1, "each notification counts once"


def test_nothing_is_taken_without_the_password_or_from_another_topic(
    client: Client, queued: list[list[Any]], caplog: pytest.LogCaptureFixture
) -> None:
    event = {"EventType": EVENT_TYPES[0], "HITId": "3ABC"}
    document = {"EventDocId": "e1", "Events": [event]}
    message = {"Type": "Notification", "TopicArn": TOPIC, "Message": json.dumps(document)}
    url = "https://sns.us-east-1.amazonaws.com/?Action=ConfirmSubscription&Token=1"
    question = {"Type": "SubscriptionConfirmation", "TopicArn": TOPIC, "SubscribeURL": url}

    asked = post(client, message, password="")
    assert (asked.status_code, asked["WWW-Authenticate"]) == (401, 'Basic realm="tomannot"')
    assert post(client, message, password="another").status_code == 401
    for password in (PASSWORD, ""):  # it has none, and none opens nothing
        assert post(client, message, password=password, environment="rehearsal").status_code == 401
    assert post(client, message, environment="elsewhere").status_code == 401
    for wrong in (
        {**message, "TopicArn": TOPIC + "2"},
        {**message, "Message": "{"},
        {**message, "Message": json.dumps({**document, "Events": [{"HITId": "<b>"}]})},
        {**question, "SubscribeURL": "https://sns.us-east-1.amazonaws.com.evil.example/?Token=1"},
    ):
        assert post(client, wrong).status_code == 400
    assert queued == []
    with caplog.at_level(logging.WARNING, "recruitment.mturk.notifications"):
        assert post(client, question).status_code == 204
    assert url in caplog.text
