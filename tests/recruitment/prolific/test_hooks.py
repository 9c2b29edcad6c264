"""Notifications from Prolific: believed only when signed, taken once, and only ever a hint to look."""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO
from typing import Any

import pytest
from django.core.cache import caches
from django.core.management import CommandError, call_command
from django.db import transaction
from django.test import Client
from django.utils import timezone

from recruitment import actions
from recruitment.models import Campaign
from recruitment.prolific.platform import EVENT_ID, SIGNATURE, TIMESTAMP, signature_of
from tests import builders
from tests.doubles.prolific import TOKEN, Delivery, ProlificDouble
from tests.recruitment.campaigns import make_campaign
from tests.recruitment.prolific.conftest import Lab

pytestmark = pytest.mark.django_db
ADDRESS = "/hooks/prolific/live/"


@pytest.fixture
def queued(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, list[int]]]:
    """What the workers were asked to do, once it is committed."""
    asked: list[tuple[str, list[int]]] = []

    def send_task(name: str, args: list[int], **options: Any) -> None:
        asked.append((name, args))

    monkeypatch.setattr("recruitment.queue.app.send_task", send_task)

    def at_once(call: Callable[[], None], robust: bool = False) -> None:
        call()

    monkeypatch.setattr(transaction, "on_commit", at_once)
    return asked


@pytest.fixture
def campaign(lab: Lab, settings: Any) -> Campaign:
    """A campaign that is on the double, which tells our site what changes."""
    account = {"token": TOKEN, "workspace": lab.platform.workspace_id, "project": "", "api": lab.double.url}
    settings.PROLIFIC = {"live": account, "rehearsal": dict.fromkeys(account, "")}
    out = StringIO()
    for _time in range(2):
        out.truncate(0)
        call_command("webhook", "prolific", stdout=out)
    name, _equals, secret = out.getvalue().strip("\0\n").partition("=")
    assert name == "PROLIFIC_WEBHOOK_SECRET"
    settings.PROLIFIC_WEBHOOK_SECRETS = {"live": secret, "rehearsal": ""}
    assert [wish.event_type for wish in lab.platform.hooks.subscriptions.values()] == [
        "submission.status.change",
        "study.status.change",
    ]
    made = make_campaign(builders.make_study(), platform="prolific", currency="GBP")
    now = timezone.now()
    actions.start_campaign(campaign=made, marketplace=lab.prolific, by=None, now=now)
    return actions.carry_out(campaign=Campaign.objects.get(pk=made.pk), marketplace=lab.prolific, now=now)


def deliver(delivery: Delivery, **headers: str) -> int:
    assert delivery.url == f"http://testserver{ADDRESS}"
    sent = {**delivery.headers, **headers}
    return Client().post(ADDRESS, delivery.body, content_type="application/json", headers=sent).status_code


def test_what_prolific_sends_has_a_campaign_looked_at_and_repetitions_nothing(
    double: ProlificDouble, lab: Lab, campaign: Campaign, queued: list[tuple[str, list[int]]]
) -> None:
    double.settle()
    sent = double.deliveries(seed=1, repeat=1.0)
    assert len(sent) == 4  # PUBLISHING and ACTIVE, each twice
    assert {deliver(delivery) for delivery in sent} == {204}
    assert queued == [("recruitment.tasks.reconcile", [campaign.pk])]
    caches["shared"].delete(f"hinted-{campaign.pk}")  # some time later
    assert deliver(sent[0]) == 204
    assert len(queued) == 1
    double.start(double.join(), campaign.remote_id)  # who has not come to us is nobody whom we know of
    assert {deliver(delivery) for delivery in double.deliveries()} == {204}
    assert len(queued) == 1


def test_what_prolific_did_not_sign_is_refused(
    double: ProlificDouble, campaign: Campaign, queued: list[tuple[str, list[int]]], settings: Any
) -> None:
    double.settle()
    delivery = double.deliveries()[0]
    stamp = delivery.headers[TIMESTAMP]
    forged = signature_of("another secret", stamp, delivery.body)
    for headers in (
        {SIGNATURE: forged},
        {SIGNATURE: ""},
        {TIMESTAMP: str(int(stamp) + 1)},
        {EVENT_ID: ""},
        {EVENT_ID: "x" * 101},
    ):
        assert deliver(delivery, **headers) == 403
    changed = Delivery(delivery.url, delivery.headers, delivery.body.replace(b"change", b"chance"))
    assert deliver(changed) == 403
    for path in ("rehearsal", "nowhere"):
        reply = Client().post(
            f"/hooks/prolific/{path}/",
            delivery.body,
            content_type="application/json",
            headers=delivery.headers,
        )
        assert reply.status_code == 403
    settings.PROLIFIC_WEBHOOK_SECRETS = {"live": "", "rehearsal": ""}
    unsigned = signature_of("", stamp, delivery.body)
    assert deliver(delivery, **{SIGNATURE: unsigned}) == 403
    assert Client().get(ADDRESS).status_code == 405
    assert queued == []


def test_without_an_account_the_command_says_what_is_missing(settings: Any) -> None:
    with pytest.raises(CommandError, match="PROLIFIC_REHEARSAL_TOKEN"):
        call_command("webhook", "prolific", "--rehearsal")
