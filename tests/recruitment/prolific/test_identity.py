"""Who comes from Prolific: by its signature, by its API, or only by what the address says."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.utils import timezone

from recruitment import actions
from recruitment.models import Campaign, Visit
from recruitment.prolific.arrivals import keys_of
from recruitment.prolific.marketplace import Prolific
from tests import builders
from tests.annotation.pages import Browser
from tests.doubles.prolific import TOKEN, ProlificDouble
from tests.recruitment.campaigns import make_campaign
from tomannot import clock

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("client")]


@pytest.fixture
def double(settings: Any) -> Iterator[ProlificDouble]:
    with ProlificDouble() as double:
        account = {
            "token": TOKEN,
            "api": double.url,
            "workspace": double.platform.workspace_id,
            "project": "",
        }
        settings.PROLIFIC = {"live": account}
        settings.PROLIFIC_SIGNED_ADDRESSES = {"live": False}
        yield double
        keys_of.cache_clear()


@pytest.fixture
def campaign(double: ProlificDouble, settings: Any) -> Campaign:
    """Stories for anybody, offered on Prolific; its addresses are not signed."""
    return publish_campaign(double, settings)


def publish_campaign(double: ProlificDouble, settings: Any, *, signed: bool = False) -> Campaign:
    campaign = make_campaign(
        builders.make_study(stories=3),
        platform="prolific",
        reward=Decimal("0.50"),
        currency="GBP",
        seats_per_posting=9,
        stories_per_visit=2,
        minutes_expected=2,
    )
    platform = Prolific(environment="live", signs_addresses=signed, **settings.PROLIFIC["live"])
    now = timezone.now()
    campaign = actions.start_campaign(campaign=campaign, marketplace=platform, by=None, now=now)
    campaign = actions.carry_out(campaign=campaign, marketplace=platform, now=now)
    double.settle()
    return campaign


def open_at(url: str) -> Browser:
    browser = Browser()
    browser.open(url)
    return browser


def is_claimed() -> bool:
    session = Visit.objects.select_related("session").get().session
    assert session is not None
    return session.identity_claimed


def test_a_signed_address_is_proof_and_one_that_was_tampered_with_is_refused(
    double: ProlificDouble, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.PROLIFIC_SIGNED_ADDRESSES = {"live": True}
    campaign = publish_campaign(double, settings, signed=True)
    person, other = double.join(), double.join()
    signed = double.start(person, campaign.remote_id).url
    assert "prolific_token=" in signed
    assert open_at(signed.replace(person, other)).heading == "This address is not yours"
    unsigned = signed.partition("&prolific_token=")[0]
    assert open_at(unsigned).heading == "This address is not yours"
    asked = len(double.seen)
    assert open_at(signed).heading == "Do you agree to take part?"
    assert is_claimed() is False
    assert not [call for call in double.seen[asked:] if "/submissions/" in call], "nobody need be asked"
    later = timezone.now() + timedelta(minutes=5)
    monkeypatch.setattr(clock, "now", lambda: later)
    assert open_at(signed).heading == "Do you agree to take part?", "a page loaded again is no forgery"
    assert open_at(
        f"{urlsplit(signed).path}?prolific_token={signed.partition('prolific_token=')[2]}"
    ).heading == ("This address has expired")


def test_without_a_signature_prolific_is_asked(double: ProlificDouble, campaign: Campaign) -> None:
    started = double.start(double.join(), campaign.remote_id)
    url = started.url
    assert open_at(url).heading == "Do you agree to take part?"
    assert is_claimed() is False
    assert open_at(url.replace(started.submission, "a" * 24)).page.status_code == 403


def test_while_prolific_cannot_be_asked_people_come_in_on_their_word(
    double: ProlificDouble, campaign: Campaign, settings: Any
) -> None:
    started = double.start(double.join(), campaign.remote_id)
    url = started.url
    account = settings.PROLIFIC["live"]
    settings.PROLIFIC = {"live": account | {"token": ""}}
    browser = open_at(url)
    assert browser.heading == "Do you agree to take part?"
    assert is_claimed() is True
    browser.press("I agree")
    browser.open(f"{'/'.join(browser.url.split('/')[:3])}/you/")
    assert browser.page.status_code == 403

    settings.PROLIFIC = {"live": account}
    again = open_at(url)
    assert is_claimed() is False
    for came, status in ((browser, 403), (again, 200)):  # the right is the address's, not the visit's
        came.open(f"/work/{came.url.split('/')[2]}/you/")
        assert came.page.status_code == status


def test_ids_that_are_none_or_given_twice_are_refused(campaign: Campaign, double: ProlificDouble) -> None:
    started = double.start(double.join(), campaign.remote_id)
    path = urlsplit(started.url).path
    for url in (
        path,
        started.url + "&PROLIFIC_PID=" + "b" * 24,
        f"{path}?PROLIFIC_PID={{{{%PROLIFIC_PID%}}}}",
    ):
        assert open_at(url).page.status_code == 400
    assert not Visit.objects.exists()


def test_the_last_answer_leads_to_the_completion_code(double: ProlificDouble, campaign: Campaign) -> None:
    browser = open_at(double.start(double.join(), campaign.remote_id).url)
    browser.press("I agree")
    browser.open(browser.document.xpath("//a[contains(@class, 'button')]/@href")[0])
    assert "hx-post" in browser.page.content.decode(), "the page is in a tab of its own"
    assert browser.page.headers["X-Frame-Options"] == "DENY"
    for _ in range(2):
        browser.press("Save and continue", **builders.ALL_YES)
    assert browser.heading == "One last step: hand it in"
    (back,) = browser.document.xpath("//a[contains(@class, 'button')]/@href")
    assert back == f"{double.url}/submissions/complete?cc={campaign.completion_code}"
