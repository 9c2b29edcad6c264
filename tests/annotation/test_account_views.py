"""A person's account over HTTP, with all cookies blocked: its facts, leaving, being forgotten."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

import pytest
from django.utils import timezone
from lxml import html

from accounts.actions import set_email
from accounts.models import Annotator, PlatformIdentity
from annotation import actions
from annotation.models import Enrollment, Study, Vote
from recruitment.links import personal_link
from tests import builders
from tests.annotation.pages import Browser, ago, answer, at, fact, text_of, token_of
from tests.worlds import built_once

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("client")]

NO = builders.answers(q1="no", q4="no")


@pytest.fixture
@built_once
def person() -> Enrollment:
    """Has answered one story half an hour ago, in 40 seconds."""
    (person,) = builders.qualified(builders.make_study(stories=3), now=ago(31))
    answer(person, after=ago(31), seconds=40)
    return Enrollment.objects.select_related("study").get(pk=person.pk)


@pytest.fixture
def study(person: Enrollment) -> Study:
    return person.study


def links(browser: Browser) -> dict[str, str]:
    return {text_of(link): link.get("href") for link in browser.document.xpath("//main//a")}


# One's own account


def test_the_own_page_says_who_one_is_here(person: Enrollment) -> None:
    actions.add_consent_text(study=person.study, text="Newer.", by=None, now=timezone.now())

    browser = at(person, "you/")

    assert fact(browser, "Your status") == "qualified"
    assert fact(browser, "You agreed to").startswith("consent text 1, ")
    assert browser.document.xpath("//dd/time/@data-local") == ["date"], "shown as all other days are"
    assert fact(browser, "Stories you finished") == "1"
    assert fact(browser, "Stories you can still answer") == "2"
    assert fact(browser, "Your pace") == "40 seconds per story"
    assert fact(browser, "Estimated earnings for stories") == ""


def test_pay_is_estimated_where_the_study_pays() -> None:
    study = builders.make_study(stories=3, pay_rate=Decimal("15.00"), currency="EUR")
    (person,) = builders.qualified(study, now=ago(60))
    browser = at(person, "you/")
    assert fact(browser, "Estimated earnings for stories") == ""

    for number, seconds in enumerate((20, 60, 600)):  # the median does not mind the lunch
        answer(person, after=ago(50 - 12 * number), seconds=seconds)

    for page in ("you/", "done/"):
        browser = at(person, page)
        assert fact(browser, "Your pace") == "60 seconds per story"
        assert fact(browser, "Estimated earnings for stories") == "0.75 EUR"


def test_changing_an_answer_earns_nothing_and_slows_nobody(person: Enrollment) -> None:
    vote = Vote.objects.get()
    actions.change_vote(assignment_id=vote.assignment_id, enrollment=person, submitted=NO, now=timezone.now())

    browser = at(person, "you/")

    assert fact(browser, "Stories you finished") == "1"
    assert fact(browser, "Your pace") == "40 seconds per story"


# Leaving


def test_looking_changes_nothing(person: Enrollment, no_writes: Callable[[], None]) -> None:
    for page in ("withdraw/", "forget/", "you/", "answers/", "done/"):
        browser = at(person, page)
        browser.client.head(browser.url)
        assert browser.page.status_code == 200
    no_writes()


def test_leaving_over_http(study: Study, person: Enrollment) -> None:
    story = builders.claim(person)
    browser = at(person, "you/")
    browser.open(links(browser)["Leave the study"])
    assert browser.heading == "Leave the study?"

    browser.press("Leave the study")

    assert (browser.path, browser.heading) == ("/stories/", "You have left this study")
    person.refresh_from_db()
    assert person.state == Enrollment.State.WITHDRAWN
    url = f"/work/{token_of(person)}/stories/"
    browser.open(url, {"assignment": str(story.pk)} | builders.ALL_YES)
    assert browser.heading == "You have left this study"
    assert b"Saved at" in browser.page.content
    assert "doesn’t decide about the story." in browser.page.content.decode()
    browser.open(f"/work/{token_of(person)}/you/")
    assert (fact(browser, "Your status"), fact(browser, "Stories you finished")) == ("withdrawn", "2")
    assert "Leave the study" not in links(browser)
    assert "Leave and delete my personal data" in links(browser)


def test_being_forgotten_over_http(person: Enrollment) -> None:
    set_email(annotator=person.annotator, environment="live", address="ada@example.org", now=timezone.now())
    browser = at(person, "you/")
    browser.open(links(browser)["Leave and delete my personal data"])
    assert browser.heading == "Leave and delete your personal data?"

    for _ in range(2):
        browser.open(f"/work/{token_of(person)}/forget/", {})
        assert (browser.page.status_code, browser.heading) == (410, "Your personal data has been deleted")

    assert not PlatformIdentity.objects.exists()
    assert Annotator.objects.get(pk=person.annotator_id).erased_at is not None
    assert Vote.objects.counted().count() == 1


def test_every_address_of_somebody_forgotten_is_dead(person: Enrollment) -> None:
    token, link = token_of(person), personal_link(person)
    actions.forget(annotator=person.annotator, now=timezone.now())
    browser = Browser()

    pages = ("", "you/", "you/email/", "answers/", "stories/", "done/")
    for address in (link, *(f"/work/{token}/{page}" for page in pages)):
        browser.open(address)
        assert (browser.page.status_code, browser.heading) == (410, "Your personal data has been deleted")
        assert not browser.document.xpath("//main//form")
        assert not browser.document.xpath("//main//a[contains(@href, 'again')]")
    assert not PlatformIdentity.objects.exists()


# What pages share


def test_the_part_for_htmx_is_that_part_of_the_whole_page(person: Enrollment) -> None:
    change = f"answers/{Vote.objects.get().assignment_id}/"
    newcomer = builders.invite(person.study)[0]
    pages = ("stories/", "instructions/", "answers/", change, "you/", "withdraw/", "forget/", "done/")
    for who, page in (*((person, page) for page in pages), (newcomer, "consent/"), (newcomer, "declined/")):
        url, browser = f"/work/{token_of(who)}/{page}", Browser()
        (whole,) = browser.open(url) and browser.document.xpath("//*[@id='work']")
        part = html.fragment_fromstring(browser.open(url, htmx=True).content.decode().strip())
        assert part.get("id") == "work"
        assert html.tostring(part, with_tail=False) == html.tostring(whole, with_tail=False), page
