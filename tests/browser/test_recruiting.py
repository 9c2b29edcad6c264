"""The pages of recruitment in a real browser: a draft, a campaign at work, what differs, what was paid."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import expect

from recruitment import actions
from recruitment.models import Payment
from tests import builders
from tests.browser.checks import assert_good
from tests.browser.conftest import OpenWindow
from tests.browser.pages import sign_in
from tests.browser.windows import DESKTOP
from tests.doubles.mturk.server import KEY_ID, SECRET, MTurkDouble
from tests.recruitment.campaigns import STORIES, make_campaign, stranger_on_a_platform
from tests.recruitment.handed_in import Desk

pytestmark = pytest.mark.browser


@pytest.fixture
def desk(settings: Any) -> Iterator[Desk]:
    """A campaign in which people were paid and came by other ways than the straight one."""
    with MTurkDouble() as double:
        keys = ("key_id", "secret", "endpoint", "notification_topic", "notification_password")
        account = dict(zip(keys, (KEY_ID, SECRET, double.url, "", ""), strict=True))
        settings.MTURK = {"live": account, "rehearsal": dict.fromkeys(keys, "")}
        study = builders.make_study("main", stories=9, pay_rate=Decimal("15.00"))
        desk = Desk(double, study, replace(STORIES, seats=27, countries=("US",)))
        for _person in range(6):
            desk.look(desk.hand_in(confirmed=False, minutes=2))
        lost, careless = desk.come(), desk.come()
        for visit in (lost, careless):
            desk.answer(visit)
        actions.send_to_hand_in(visit=lost, now=timezone.now())
        desk.submit(careless, receipt="none")
        late = timezone.now() + desk.campaign.time_allowed + timedelta(hours=1)
        for now in (timezone.now(), late, late + timedelta(minutes=5)):
            desk.sweep(now=now)
        for payment in Payment.objects.select_related("submission"):
            desk.look(payment.submission)
        paid = Payment.objects.all()[0].submission
        actions.give_bonus(
            submission=paid, amount=Decimal(5000), reason="Thank you.", by=None, now=timezone.now()
        )
        desk.send_all()
        desk.come()
        yield desk


def test_a_researcher_recruits_decides_and_pays(
    open_window: OpenWindow, researcher: tuple[str, str], desk: Desk
) -> None:
    make_campaign(desk.study, title="A draft, which nobody sees")
    stranger_on_a_platform(desk.study)
    window = open_window(viewport=DESKTOP)
    page = window.page
    sign_in(window, researcher)

    page.goto(reverse("dashboard:recruitment", args=["main"]))
    expect(page.get_by_text("27 pieces of work offered · 9 visits · 6 confirmed")).to_be_visible()
    assert_good(window)
    page.get_by_role("link", name="Offer stories on Mechanical Turk").click()
    assert_good(window)

    page.goto(reverse("dashboard:campaign", args=["main", 2]))
    expect(page.get_by_role("row", name="In all")).to_contain_text("2.70 USD")
    assert_good(window)
    page.goto(reverse("dashboard:campaign", args=["main", 1]))
    assert_good(window)
    window.button("Top up 6 pieces of work").click()
    expect(page.get_by_text("6 pieces of work are being topped up.")).to_be_visible()
    expect(page.get_by_text("0.25 USD each: 0 of 6 pieces of work")).to_be_visible()
    assert_good(window)
    for order in actions.open_orders():
        actions.write_payments(order_id=order)
    expect(page.get_by_role("heading", name="Being written down")).to_have_count(0)  # by itself

    window.link("Each piece of work: approve, reject, bonus").click()
    assert_good(window)
    window.button("Approve and pay").click()
    expect(page.get_by_text("Written down, and sent to the platform.")).to_be_visible()

    page.goto(reverse("dashboard:differences", args=["main"]))
    assert_good(window)
    first = page.get_by_role("listitem").filter(has_text="Handed in there without our receipt")
    first.get_by_label("How it was dealt with").fill("Everything is there.")
    first.get_by_role("button", name="Let its votes count").click()
    expect(page.get_by_text("Dealt with, and written in the log.")).to_be_visible()
    expect(page.get_by_text("Handed in there without our receipt")).to_have_count(0)

    page.goto(reverse("dashboard:payments", args=["main"]))
    assert_good(window)
    page.get_by_role("button", name=re.compile("that waits? or (was|were) refused again")).first.click()
    expect(page.get_by_text("A worker sends it now.")).to_be_visible()
    assert not window.foreign_requests()
