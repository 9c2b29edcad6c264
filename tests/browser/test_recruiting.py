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
from playwright.sync_api import ViewportSize, expect

from recruitment import actions
from recruitment.marketplace import OnOffer
from recruitment.models import Payment
from tests import builders
from tests.browser.checks import assert_good
from tests.browser.conftest import OpenWindow
from tests.browser.pages import sign_in
from tests.browser.windows import DESKTOP, SIZES
from tests.doubles.mturk.server import KEY_ID, SECRET, MTurkDouble
from tests.recruitment.campaigns import STORIES, make_campaign, stranger_on_a_platform
from tests.recruitment.handed_in import Desk, reject

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
        actions.record_hand_in(visit=lost, now=timezone.now())
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
    expect(page.get_by_text("27 places · 9 visits · 6 confirmed")).to_be_visible()
    assert_good(window)
    window.follow(window.link("Offer stories on Mechanical Turk"))
    assert_good(window)

    page.goto(reverse("dashboard:campaign", args=["main", 2]))
    expect(page.get_by_role("row", name="Total")).to_contain_text("2.70 USD")
    assert_good(window)
    page.goto(reverse("dashboard:campaign", args=["main", 1]))
    assert_good(window)
    window.button("Top up 6 submissions").click()
    expect(page.get_by_text("6 submissions are topped up.")).to_be_visible()
    assert_good(window)

    window.follow(window.link("Submissions: approve, reject, pay bonuses"))
    assert_good(window)
    window.button("Approve and pay").click()
    expect(page.get_by_text("Recorded, and sent to the platform.")).to_be_visible()

    page.goto(reverse("dashboard:mismatches", args=["main"]))
    assert_good(window)
    first = page.get_by_role("listitem").filter(has_text="Handed in there without our receipt")
    first.get_by_label("How you dealt with it").fill("Everything is there.")
    first.get_by_role("button", name="Count the votes").click()
    expect(page.get_by_text("The mismatch is settled, and the log says how.")).to_be_visible()
    expect(first).to_have_count(0)

    page.goto(reverse("dashboard:payments", args=["main"]))
    assert_good(window)
    page.get_by_role("button", name=re.compile("waiting or refused payment")).first.click()
    expect(page.get_by_text("A worker sends them now.")).to_be_visible()
    assert not window.foreign_requests()


@pytest.mark.parametrize("viewport", SIZES)
def test_who_writes_is_found_and_what_harms_or_costs_much_is_asked_about_twice(
    open_window: OpenWindow, researcher: tuple[str, str], desk: Desk, viewport: ViewportSize
) -> None:
    rejected, waits = desk.hand_in(confirmed=False), desk.hand_in(confirmed=False)
    desk.send(reject(rejected))
    window = open_window(viewport=viewport)
    page = window.page
    sign_in(window, researcher)

    page.goto(reverse("dashboard:recruitment", args=["main"]))
    page.get_by_label("Find by platform id").fill(desk.worker_of(rejected))
    window.button("Find").click()
    expect(page.get_by_role("heading", name="Found by platform id")).to_be_visible()
    assert_good(window)
    window.follow(window.link("Decide about this submission, or pay a bonus"))
    page.get_by_text("Overturn the rejection").click()
    assert_good(window)
    window.button("Overturn it and pay").click()
    expect(page.get_by_text("Recorded, and sent to the platform.")).to_be_visible()

    work = page.get_by_role("listitem").filter(has=page.locator(f'form[action*="/submissions/{waits.pk}/"]'))
    work.get_by_text("Reject this submission").click()
    work.get_by_label("Reason (the participant reads it)").fill("Nothing was read.")
    work.get_by_role("button", name="Reject it").click()
    expect(page.get_by_text("We tell the platform in ten minutes")).to_be_visible()
    window.button("Undo and approve").click()
    expect(page.get_by_text("The rejection is undone, and the submission approved.")).to_be_visible()

    paid = page.get_by_role("listitem").filter(has_text="Pay a bonus").first
    paid.get_by_text("Pay a bonus").click()
    paid.get_by_label("Amount in USD").fill("500")
    paid.get_by_label("Reason (the participant reads it)").fill("Thank you.")
    paid.get_by_role("button", name="Pay it").click()
    expect(page.get_by_role("heading", name="Confirm this bonus")).to_be_visible()
    assert_good(window)
    window.follow(window.link("No, pay nothing"))

    page.goto(reverse("dashboard:mismatches", args=["main"]))
    page.get_by_role("button", name="Show the ids on the platform").first.click()
    expect(page.get_by_role("heading", name="Platform ids")).to_be_visible()
    assert_good(window)

    actions.reconciliation.record_availability(
        campaign=desk.campaign, found=OnOffer.PAUSED, now=timezone.now()
    )
    page.goto(reverse("dashboard:campaign", args=["main", 1]))
    expect(page.get_by_text("Paused on the platform since")).to_be_visible()
    page.get_by_text("End permanently", exact=True).click()
    assert_good(window)
    window.button("Yes, end permanently").click()
    expect(page.get_by_text("The campaign: is being ended.")).to_be_visible()
