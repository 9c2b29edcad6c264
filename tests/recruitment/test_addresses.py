"""Addresses are given and confirmed, and links sent again to whoever asks."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.core.mail import EmailMessage
from django.core.management import call_command
from django.utils import timezone

from accounts import rate_limits
from accounts.models import PlatformIdentity
from accounts.rate_limits import ASKED_FOR_ADDRESS, retry_at
from annotation import actions as annotation_actions
from annotation.models import Enrollment, Event, Study
from annotation.tokens import address_token
from recruitment import actions
from recruitment.links import personal_link
from tests import builders
from tests.annotation.pages import Browser, at, token_of
from tests.recruitment.addresses import ADDRESS, ask, confirmed, events, give, links_in
from tests.recruitment.conftest import no_mails

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("client")]


@pytest.fixture
def study() -> Study:
    return builders.make_study(title="Stories & more")


@pytest.fixture
def person(study: Study) -> Enrollment:
    return builders.qualified(study)[0]


def test_an_address_is_confirmed_by_the_link_in_the_first_mail(
    person: Enrollment, mails: list[EmailMessage]
) -> None:
    browser = at(person, "you/")
    browser.open(f"/work/{token_of(person)}/you/email/")
    browser.press("Save the address", email=" Ada@Example.org ")

    (mail,) = mails
    assert (mail.to, mail.subject) == ([ADDRESS], "Is this your e-mail address?")
    assert "Stories & more" in mail.body
    assert mail.content_subtype == "plain"
    assert "not confirmed yet" in browser.document.text_content()
    assert b"ada@" not in browser.page.content, "whoever has a participant's id can open their place"

    reader = Browser()
    reader.open(links_in(mail)[0])
    assert reader.heading == "Is this your address?"
    assert PlatformIdentity.objects.get().confirmed_at is None, "mail programs open links, too"
    reader.press("Yes, it is mine")

    assert reader.heading == "Your address is confirmed"
    assert PlatformIdentity.objects.get().confirmed_at is not None
    assert [event.enrollment for event in events(Event.Type.ADDRESS_CONFIRMED)] == [person]
    browser.open(f"/work/{token_of(person)}/you/email/")
    assert "not confirmed yet" not in browser.document.text_content()


def test_a_confirmed_address_stays_until_the_next_is_confirmed_and_is_told(
    person: Enrollment, mails: list[EmailMessage]
) -> None:
    confirmed(person)
    mails.clear()
    browser = Browser()
    url = f"/work/{token_of(person)}/you/email/"

    for _ in range(2):
        browser.open(url, {"email": "mistyped@example.org"})

    assert [(mail.to, mail.subject) for mail in mails] == [
        (["mistyped@example.org"], "Is this your e-mail address?"),
        ([ADDRESS], "Another e-mail address was given for your account"),
        (["mistyped@example.org"], "Is this your e-mail address?"),
    ]
    assert person.study.contact in mails[1].body
    assert "mistyped" not in mails[1].body
    assert "Until then, we send it to a…@example.org." in browser.document.text_content()
    mails.clear()
    ask()
    call_command("personal_link", str(person.pk), send=True)
    assert [mail.to for mail in mails] == [[ADDRESS]] * 2

    assert give(person).confirmed_at is not None, "the old one, given again, takes the new one back"
    assert [one.person for one in PlatformIdentity.objects.all()] == [ADDRESS]
    browser.open(url, {"email": "new@example.org"})
    pending = PlatformIdentity.objects.get(confirmed_at=None)
    actions.confirm_address(identity_id=pending.pk, now=timezone.now())

    assert [one.person for one in PlatformIdentity.objects.all()] == ["new@example.org"]


def test_an_address_is_forgotten_at_a_press(person: Enrollment, mails: list[EmailMessage]) -> None:
    confirmed(person)
    browser = Browser()
    browser.open(f"/work/{token_of(person)}/you/email/")

    browser.open(browser.url, {"forget": "1"})

    assert not PlatformIdentity.objects.exists()
    assert len(events(Event.Type.ADDRESS_FORGOTTEN)) == 1
    with no_mails(mails):
        ask()


@pytest.mark.parametrize("address", ["ada", "ada@example.org\0"])
def test_what_is_no_address_is_refused(person: Enrollment, mails: list[EmailMessage], address: str) -> None:
    for url in (f"/work/{token_of(person)}/you/email/", "/again/"):
        browser = Browser()
        response = browser.open(url, {"email": address})
        assert response.status_code == 422
        assert len(browser.document.xpath("//*[@id='email-error'][@role='alert']")) == 1
        assert browser.document.xpath("//input[@id='email']/@aria-describedby") == ["email-error"]
    assert not PlatformIdentity.objects.exists()
    assert not mails


def test_looking_at_an_address_with_a_query_stores_nothing(person: Enrollment) -> None:
    Browser().open(f"/work/{token_of(person)}/you/email/?email={ADDRESS}")
    assert not PlatformIdentity.objects.exists()


@pytest.mark.parametrize("fate", ["replaced", "too old", "taken", "forged"])
def test_a_confirmation_that_comes_to_nothing_says_why(
    person: Enrollment, mails: list[EmailMessage], monkeypatch: pytest.MonkeyPatch, fate: str
) -> None:
    identity = give(person)
    token = address_token(identity.pk, identity.person)
    if fate == "replaced":
        give(person, "other@example.org")
    elif fate == "too old":
        later = (timezone.now() + timedelta(days=8)).timestamp()
        monkeypatch.setattr("django.core.signing.time.time", lambda: later)
    elif fate == "taken":
        confirmed(builders.invite(person.study)[0])
    else:
        token = token[:-1]
    browser = Browser()

    browser.open(f"/confirm/{token}/", {})

    wrong = fate == "forged"
    assert browser.page.status_code == (404 if wrong else 410)
    assert browser.heading == ("This link does not work" if wrong else "The address was not confirmed")
    assert not PlatformIdentity.objects.filter(annotator=person.annotator, confirmed_at__isnull=False)


# Send me my link again


def test_the_answer_is_the_same_whether_the_address_is_known_or_not(
    person: Enrollment, mails: list[EmailMessage]
) -> None:
    confirmed(person)
    mails.clear()

    pages = [ask(address).page.content for address in (ADDRESS, "nobody@example.org")]

    assert pages[0] == pages[1]
    assert b"Check your inbox" in pages[0]
    (mail,) = mails
    assert mail.to == [ADDRESS]
    assert links_in(mail) == [personal_link(person).removeprefix("http://testserver")]
    assert [event.enrollment for event in events(Event.Type.LINK_MAILED)] == [person]


def test_all_studies_that_go_on_for_the_person_are_in_one_mail(
    person: Enrollment, mails: list[EmailMessage]
) -> None:
    second, left, over = (builders.make_study(slug) for slug in ("second", "left", "over"))
    places = [
        annotation_actions.enroll(study=study, annotator=person.annotator, now=timezone.now())
        for study in (second, left, over)
    ]
    annotation_actions.withdraw(enrollment=places[1], now=timezone.now())
    annotation_actions.close_study(study=over, by=None, now=timezone.now())
    confirmed(person)
    mails.clear()

    ask()

    (mail,) = mails
    assert mail.subject == "Here are your personal links"
    assert links_in(mail) == [
        personal_link(place).removeprefix("http://testserver") for place in (person, places[0])
    ]


def test_an_address_that_is_only_claimed_gets_no_link(person: Enrollment, mails: list[EmailMessage]) -> None:
    """Else anybody could type somebody else's address and have mails sent there."""
    give(person)

    with no_mails(mails):
        ask()


def test_the_mail_is_in_the_language_in_which_the_address_was_given(
    person: Enrollment, mails: list[EmailMessage]
) -> None:
    confirmed(person, language="de")
    mails.clear()

    ask()

    assert mails[0].subject == "Hier ist Ihr persönlicher Link"


def test_the_language_that_somebody_chose_last_is_that_of_their_mails(
    person: Enrollment, mails: list[EmailMessage]
) -> None:
    confirmed(person)
    elsewhere = confirmed(builders.qualified(builders.make_study("other"))[0], "carl@example.org")
    annotation_actions.choose_language(enrollment=person, language="de")
    mails.clear()

    ask()

    assert mails[0].subject == "Hier ist Ihr persönlicher Link"
    elsewhere.refresh_from_db()
    assert elsewhere.language == "en"


def test_an_address_that_is_given_once_more_is_asked_in_the_language_of_the_page(
    person: Enrollment, mails: list[EmailMessage]
) -> None:
    give(person)
    mails.clear()

    give(person, language="de")

    assert mails[0].subject == "Ist das Ihre E-Mail-Adresse?"


def test_people_come_to_the_page_from_where_they_need_it(person: Enrollment) -> None:
    token = token_of(person)
    for url in ("/", "/join/1.x/", f"/work/{token[:-1]}/", "/join/cut-off/"):
        browser = Browser()
        browser.open(url)
        assert "/again/" in browser.document.xpath("//main//a/@href"), url
    own = at(person, "you/")
    assert [link for link in own.document.xpath("//main//a/@href") if link.endswith("/you/email/")]


def test_a_site_without_mail_promises_none(
    person: Enrollment, settings: Any, mails: list[EmailMessage]
) -> None:
    confirmed(person)
    settings.SENDS_MAIL = False
    for url in ("/", "/join/1.x/", f"/work/{token_of(person)}/you/"):
        browser = Browser()
        browser.open(url)
        assert not [
            link for link in browser.document.xpath("//a/@href") if "again" in link or "email" in link
        ]
    again = Browser()
    again.open("/again/")
    assert (again.page.status_code, again.heading) == (404, "This site sends no mail")
    url = f"/work/{token_of(person)}/you/email/"
    with no_mails(mails):
        assert Browser().open(url, {"email": "new@example.org"}).status_code == 422
        Browser().open("/again/", {"email": ADDRESS})
    Browser().open(url, {"forget": "1"})
    assert not PlatformIdentity.objects.exists(), "what is stored can be taken back all the same"


# Limits


@pytest.mark.usefixtures("one_moment")
def test_one_address_is_sent_three_mails_an_hour_at_the_most(
    person: Enrollment, mails: list[EmailMessage]
) -> None:
    confirmed(person)
    mails.clear()

    browsers = [ask(ADDRESS.upper() if number % 2 else ADDRESS) for number in range(4)]

    assert [browser.page.status_code for browser in browsers] == [200] * 4
    assert len({browser.page.content for browser in browsers}) == 1, "nobody learns that somebody else asked"
    assert len(mails) == 3
    assert ask("somebody.else@example.org").page.status_code == 200


@pytest.mark.usefixtures("one_moment")
def test_an_unknown_address_is_limited_alike(mails: list[EmailMessage]) -> None:
    statuses = [ask("nobody@example.org").page.status_code for _ in range(4)]
    assert statuses == [200] * 4
    assert retry_at(ASKED_FOR_ADDRESS, "nobody@example.org", now=timezone.now())


@pytest.mark.usefixtures("one_moment")
def test_one_person_cannot_have_mails_sent_to_many_strangers(
    person: Enrollment, mails: list[EmailMessage]
) -> None:
    url = f"/work/{token_of(person)}/you/email/"
    browsers = [Browser() for _ in range(6)]
    for number, browser in enumerate(browsers):
        browser.open(url, {"email": f"stranger{number}@example.org"})

    assert [browser.page.status_code for browser in browsers] == [200] * 5 + [429]
    assert "Too many mails were requested." in browsers[-1].document.text_content()
    assert len(mails) == 5
    assert Browser().open(url, {"forget": "1"}).status_code == 200, "taking an address back sends nothing"


@pytest.mark.usefixtures("one_moment")
def test_giving_addresses_counts_as_asking_by_the_same_client(
    study: Study, mails: list[EmailMessage], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rate_limits, "ASKED_BY_CLIENT", replace(rate_limits.ASKED_BY_CLIENT, most=3))
    answers = [
        Browser().open(f"/work/{token_of(person)}/you/email/", {"email": f"{person.pk}@example.org"})
        for person in builders.qualified(study, 3)
    ]

    assert [answer.status_code for answer in answers] == [200] * 3
    assert ask("nobody@example.org").page.status_code == 429
    assert len(mails) == 3
