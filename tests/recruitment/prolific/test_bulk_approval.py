"""Many approvals are asked for by one request, and every one of them is still settled by itself."""

from __future__ import annotations

from typing import Any

import pytest

from recruitment import actions
from recruitment.actions import payment_delivery
from recruitment.models import Campaign, Payment
from tests.recruitment.prolific.test_campaign import Campaigns, again, lab, reload, take_test

__all__ = ["lab"]
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("client")]


def send(lab: Campaigns, campaign: Campaign) -> None:
    """What the workers do until every approval has been sent."""
    for _run in range(6 if lab.double.faults.rate else 2):
        actions.send_due(campaign=reload(campaign), marketplace=lab.prolific)
        lab.double.settle()


def test_many_approvals_are_one_request_and_each_is_paid_once(
    lab: Campaigns, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(payment_delivery, "LEAST_IN_BULK", 3)
    bulks: list[list[str]] = []
    approve_all = lab.prolific.approve_all

    def counted(works: Any) -> None:
        bulks.append(list(works))
        approve_all(works)

    monkeypatch.setattr(lab.prolific, "approve_all", counted)
    campaign = lab.publish_campaign("test")
    works = [take_test(lab, lab.double.join(), campaign) for _person in range(3)]
    lab.double.settle()
    now = lab.platform.clock.now()
    again(
        lambda: actions.reconcile(campaign=reload(campaign), marketplace=lab.prolific, now=now)  # plans them
    )

    send(lab, campaign)

    assert set(bulks[0]) == set(works)
    assert lab.paid("reward") == [50, 50, 50]
    assert set(Payment.objects.values_list("kind", "state")) == {("approval", "done")}


def test_few_are_approved_one_by_one(lab: Campaigns, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_works: Any) -> None:
        raise AssertionError("one submission is no bulk")

    monkeypatch.setattr(lab.prolific, "approve_all", refused)
    campaign = lab.publish_campaign("test")
    take_test(lab, lab.double.join(), campaign)
    lab.double.settle()
    now = lab.platform.clock.now()
    again(lambda: actions.reconcile(campaign=reload(campaign), marketplace=lab.prolific, now=now))

    send(lab, campaign)

    assert lab.paid("reward") == [50]
