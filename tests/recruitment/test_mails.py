"""Addresses, mails and links sent again: over HTTP, by command, and what the worker does."""

from __future__ import annotations

import logging
import re
import smtplib
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.core.checks import run_checks
from django.core.mail import EmailMessage
from django.core.management import CommandError, call_command
from django.utils import timezone
from kombu.exceptions import OperationalError

from accounts.models import Annotator, PlatformIdentity
from accounts.rate_limits import ASKED_FOR_ADDRESS, retry_at
from annotation import actions as annotation_actions
from annotation.models import Enrollment, Event, Study
from annotation.tokens import address_token
from recruitment import actions, mails as mail_texts, tasks
from recruitment.errors import MailFailed, MailRefused
from recruitment.links import personal_link
from recruitment.mails import Kind
from tests import builders
from tests.annotation.pages import Browser, at, token_of
from tests.recruitment.conftest import no_mails
from tomannot.celery import app

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("client")]

ADDRESS = "ada@example.org"
LINK = re.compile(r"http://testserver(/\S+)")


@pytest.fixture
def study() -> Study:
    return builders.make_study(title="Stories & more")


@pytest.fixture
def person(study: Study) -> Enrollment:
    return builders.qualified(study)[0]


def give(person: Enrollment, address: str = ADDRESS, language: str = "en") -> PlatformIdentity:
    identity = actions.give_address(enrollment=person, address=address, language=language, now=timezone.now())
    assert identity is not None
    return identity


def confirmed(person: Enrollment, address: str = ADDRESS, language: str = "en") -> PlatformIdentity:
    return actions.confirm_address(identity_id=give(person, address, language).pk, now=timezone.now())


def ask(address: str = ADDRESS) -> Browser:
    browser = Browser()
    browser.open("/again/")
    browser.press(email=address)
    return browser


def links_in(mail: EmailMessage) -> list[str]:
    """The addresses on this site in a mail, as paths."""
    return LINK.findall(str(mail.body))


def events(type: Event.Type) -> list[Event]:
    return list(Event.objects.filter(type=type))


# An address is given, and confirmed by whoever reads its mail


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

    browser.open(url, {"email": "new@example.org"})
    pending = PlatformIdentity.objects.get(confirmed_at=None)
    actions.confirm_address(identity_id=pending.pk, now=timezone.now())

    assert [one.person for one in PlatformIdentity.objects.all()] == ["new@example.org"]


def test_giving_the_old_address_again_takes_the_new_one_back(
    person: Enrollment, mails: list[EmailMessage]
) -> None:
    confirmed(person)
    give(person, "mistyped@example.org")

    assert give(person).confirmed_at is not None

    assert [one.person for one in PlatformIdentity.objects.all()] == [ADDRESS]


def test_an_address_is_forgotten_at_a_press(person: Enrollment, mails: list[EmailMessage]) -> None:
    confirmed(person)
    browser = Browser()
    browser.open(f"/work/{token_of(person)}/you/email/")

    browser.open(browser.url, {"forget": "1"})

    assert not PlatformIdentity.objects.exists()
    assert len(events(Event.Type.ADDRESS_FORGOTTEN)) == 1
    with no_mails(mails):
        ask()


@pytest.mark.parametrize(
    "address", ["ada", "ada@", "a b@example.org", "a" * 190 + "@example.org", "ada@example.org\0"]
)
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


@pytest.mark.parametrize("fate", ["replaced", "forgotten", "too old", "taken", "forged"])
def test_a_confirmation_that_comes_to_nothing_says_why(
    person: Enrollment, mails: list[EmailMessage], monkeypatch: pytest.MonkeyPatch, fate: str
) -> None:
    identity = give(person)
    token = address_token(identity.pk, identity.person)
    if fate == "replaced":
        give(person, "other@example.org")
    elif fate == "forgotten":
        annotation_actions.forget(annotator=person.annotator, now=timezone.now())
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
    study: Study, mails: list[EmailMessage]
) -> None:
    for number, person in enumerate(builders.qualified(study, 7)):
        for turn in range(5 if number < 6 else 1):
            address = f"stranger{number}-{turn}@example.org"
            response = Browser().open(f"/work/{token_of(person)}/you/email/", {"email": address})

    assert response.status_code == 429
    assert len(mails) == 30


@pytest.mark.usefixtures("one_moment")
def test_one_client_may_not_try_many_addresses(mails: list[EmailMessage]) -> None:
    statuses = [ask(f"somebody{number}@example.org").page.status_code for number in range(31)]
    assert statuses == [200] * 30 + [429]


# The researcher's side


def test_inviting_by_mail(
    study: Study, mails: list[EmailMessage], capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("invite", "study", "--email", ADDRESS, "--email", "Bob@example.org", "--language", "de")

    links = capsys.readouterr().out.splitlines()
    assert [mail.to for mail in mails] == [[ADDRESS], ["bob@example.org"]]
    assert [f"http://testserver{links_in(mail)[0]}" for mail in mails] == links
    assert mails[0].subject.startswith("Sie sind eingeladen")
    assert Enrollment.objects.filter(state="invited").count() == 2
    assert len(events(Event.Type.LINK_MAILED)) == 2
    mails.clear()
    ask()
    assert f"http://testserver{links_in(mails[0])[0]}" == links[0]


def test_somebody_invited_twice_or_to_two_studies_is_one_person(
    study: Study, mails: list[EmailMessage]
) -> None:
    other = builders.make_study("other")
    for slug in ("study", "study", "other"):
        call_command("invite", slug, email=[ADDRESS])

    assert Annotator.objects.count() == 1
    assert set(Enrollment.objects.values_list("study", flat=True)) == {study.pk, other.pk}
    assert len(mails) == 3


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--email", "nonsense"], 1),
        (["--email", "a@" + ".".join(["b" * 50] * 4) + ".org"], 1),
        (["--email", ADDRESS, "--count", "2"], 2),
    ],
)
def test_an_invitation_that_cannot_be_sent_invites_nobody(
    study: Study, mails: list[EmailMessage], arguments: list[str], code: int
) -> None:
    with pytest.raises(CommandError) as error:
        call_command("invite", "study", "--email", "good@example.org", *arguments)
    assert error.value.returncode == code
    assert not Enrollment.objects.exists()
    assert not mails


def test_somebody_who_was_forgotten_is_not_invited_again(study: Study, mails: list[EmailMessage]) -> None:
    (person,) = actions.invite_by_mail(study=study, addresses=[ADDRESS], by=None, now=timezone.now())
    annotation_actions.forget(annotator=person.annotator, now=timezone.now())
    mails.clear()

    with pytest.raises(CommandError, match=f"“{ADDRESS}” had their personal data deleted"):
        call_command("invite", "study", email=[ADDRESS, "good@example.org"])

    assert Enrollment.objects.get() == person
    assert not mails


def test_inviting_by_mail_needs_mail(study: Study, settings: Any) -> None:
    settings.SENDS_MAIL = False
    with pytest.raises(CommandError, match="EMAIL_URL"):
        call_command("invite", "study", email=[ADDRESS])
    assert not Enrollment.objects.exists()


def test_revoking_ends_every_link_and_page_and_a_new_one_can_be_sent(
    person: Enrollment, mails: list[EmailMessage], capsys: pytest.CaptureFixture[str]
) -> None:
    confirmed(person)
    mails.clear()
    old = [personal_link(person), f"/work/{token_of(person)}/stories/", f"/work/{token_of(person)}/you/"]

    call_command("personal_link", str(person.pk), "--revoke", "--send")

    ways: list[dict[str, str] | None] = [None, {}]
    for url in old:
        for data in ways[:1] if url.endswith("/you/") else ways:
            browser = Browser()
            browser.open(url, data)
            assert (browser.page.status_code, browser.heading) == (410, "This link has been replaced")
            assert "/again/" in browser.document.xpath("//main//a/@href")
    new = capsys.readouterr().out.strip()
    assert f"http://testserver{links_in(mails[0])[0]}" == new
    browser = Browser()
    browser.open(new)
    browser.press()
    assert browser.path == "/stories/"
    (event,) = events(Event.Type.LINK_REVOKED)
    assert (event.enrollment, event.subject) == (person, "link 1")


def test_a_link_is_printed_again_as_it_was(person: Enrollment, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("personal_link", str(person.pk))
    assert capsys.readouterr().out.strip() == personal_link(person)


@pytest.mark.parametrize("number", ["999999", "x", "1.5"])
def test_the_command_knows_the_people(person: Enrollment, number: str) -> None:
    with pytest.raises(CommandError):
        call_command("personal_link", number)


def test_a_link_is_not_revoked_when_the_new_one_cannot_be_sent(person: Enrollment) -> None:
    with pytest.raises(CommandError, match="no confirmed e-mail address"):
        call_command("personal_link", str(person.pk), revoke=True, send=True)
    assert Enrollment.objects.get().link_version == 1


# The worker


def test_what_changed_before_the_worker_came_is_not_sent(
    person: Enrollment, mails: list[EmailMessage]
) -> None:
    identity = confirmed(person)
    mails.clear()
    annotation_actions.forget(annotator=person.annotator, now=timezone.now())

    for kind in Kind:
        assert not tasks.send_mail(identity.pk, person.pk, kind)
    assert not tasks.send_mail(identity.pk, None, Kind.LINKS)

    assert not mails


def test_neither_the_queue_nor_a_log_gets_an_address_or_a_token(
    person: Enrollment, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    queued: list[Any] = []
    monkeypatch.setattr(app, "send_task", lambda name, args: queued.extend(args))
    monkeypatch.setattr("django.db.transaction.on_commit", lambda call, robust=False: call())

    confirmed(person)
    ask()
    actions.send_link(enrollment=person, by=None)

    assert len(queued) == 10
    assert all(isinstance(one, int | None) or one in [*Kind] for one in queued)
    assert ADDRESS not in caplog.text
    assert personal_link(person).split("/")[-2] not in caplog.text


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (smtplib.SMTPRecipientsRefused({ADDRESS: (550, b"no such user " + ADDRESS.encode())}), MailRefused),
        (smtplib.SMTPRecipientsRefused({ADDRESS: (451, b"later " + ADDRESS.encode())}), MailFailed),
        (smtplib.SMTPDataError(554, b"no such content for " + ADDRESS.encode()), MailRefused),
        (smtplib.SMTPSenderRefused(550, b"no", ADDRESS), MailFailed),
        (smtplib.SMTPAuthenticationError(535, b"who are you"), MailFailed),
        (smtplib.SMTPSenderRefused(530, b"sign in first", ADDRESS), MailFailed),
        (smtplib.SMTPNotSupportedError("STARTTLS"), MailFailed),
        (smtplib.SMTPServerDisconnected(), MailFailed),
        (ConnectionRefusedError(), MailFailed),
    ],
)
def test_what_a_mail_server_says_is_told_without_the_address(
    person: Enrollment,
    mails: list[EmailMessage],
    monkeypatch: pytest.MonkeyPatch,
    answer: Exception,
    error: Any,
) -> None:
    identity = confirmed(person)

    def refuse(self: EmailMessage) -> int:
        raise answer

    monkeypatch.setattr(EmailMessage, "send", refuse)
    with pytest.raises(error) as raised:
        mail_texts.hand_over(mail_texts.mail_of(Kind.LINKS, identity, [person]))
    assert ADDRESS not in str(raised.value)
    assert raised.value.__cause__ is None
    assert raised.value.__suppress_context__
    assert not events(Event.Type.LINK_MAILED)


def failing(monkeypatch: pytest.MonkeyPatch, answer: Exception, *, times: int) -> list[int]:
    """The mail server answers like this the first so many times; returns the tries so far."""
    tries: list[int] = []
    send = EmailMessage.send

    def sending(self: EmailMessage) -> int:
        tries.append(1)
        if len(tries) <= times:
            raise answer
        return send(self)

    monkeypatch.setattr(EmailMessage, "send", sending)
    return tries


JOBS = [Kind.CONFIRMATION, Kind.LINKS, Kind.INVITATION]


def job_of(name: str, person: Enrollment) -> list[Any]:
    """What the task is given: a mail to confirm an address, and the others to a confirmed one."""
    identity = give(person) if name == Kind.CONFIRMATION else confirmed(person)
    return [identity.pk, person.pk, name]


@pytest.mark.parametrize("name", JOBS)
def test_a_mail_server_that_does_not_answer_is_tried_again(
    person: Enrollment, mails: list[EmailMessage], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    args = job_of(name, person)
    mails.clear()
    tries = failing(monkeypatch, ConnectionRefusedError(), times=3)

    result = tasks.send_mail.apply(args=tuple(args))

    assert result.successful()
    assert (len(tries), len(mails)) == (4, 1)
    assert not events(Event.Type.LINK_NOT_MAILED)


@pytest.mark.parametrize("name", JOBS)
@pytest.mark.parametrize(
    ("answer", "most", "said"),
    [
        (smtplib.SMTPRecipientsRefused({ADDRESS: (550, b"no such user")}), 1, "code 550"),
        (smtplib.SMTPAuthenticationError(535, b"who are you"), 9, "code 535"),
    ],
    ids=["refused", "never taken"],
)
def test_a_mail_that_is_given_up_is_in_the_log_of_the_study(
    person: Enrollment,
    mails: list[EmailMessage],
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    answer: Exception,
    most: int,
    said: str,
) -> None:
    args = job_of(name, person)
    mails.clear()
    tries = failing(monkeypatch, answer, times=100)

    result = tasks.send_mail.apply(args=tuple(args))

    assert result.failed()
    assert len(tries) == most
    (event,) = events(Event.Type.LINK_NOT_MAILED)
    assert event.enrollment == person
    assert said in event.note
    assert ADDRESS not in event.note
    assert not mails


@pytest.fixture
def no_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    """The queue takes nothing."""

    def refuse(name: str, args: list[Any]) -> None:
        raise OperationalError("Connection refused")

    monkeypatch.setattr(app, "send_task", refuse)


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("no_broker")
def test_a_page_says_when_no_mail_could_be_queued(person: Enrollment) -> None:
    for url in (f"/work/{token_of(person)}/you/email/", "/again/"):
        browser = Browser()
        browser.open(url, {"email": ADDRESS})
        assert browser.page.status_code == 503
        (error,) = browser.document.xpath("//*[@id='email-error']")
        assert error.text_content() == "We couldn’t send the mail. Please try again in a while."


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("no_broker")
def test_commands_say_when_no_mail_could_be_queued(study: Study) -> None:
    with pytest.raises(CommandError, match="could not be queued"):
        call_command("invite", "study", email=[ADDRESS])
    invited = Enrollment.objects.get()
    with pytest.raises(CommandError, match="could not be queued"):
        call_command("personal_link", str(invited.pk), send=True)


def test_answers_to_a_mail_go_to_the_people_who_run_the_study(
    study: Study, mails: list[EmailMessage]
) -> None:
    call_command("invite", "study", email=[ADDRESS])
    assert mails[0].reply_to == [study.contact]


@pytest.mark.parametrize("leave", [annotation_actions.withdraw, annotation_actions.decline_consent])
def test_nobody_who_said_no_is_invited_again(
    study: Study, mails: list[EmailMessage], leave: Callable[..., Enrollment]
) -> None:
    (person,) = actions.invite_by_mail(study=study, addresses=[ADDRESS], by=None, now=timezone.now())
    leave(enrollment=person, now=timezone.now())
    mails.clear()

    with pytest.raises(CommandError, match=f"“{ADDRESS}” declined or left this study"):
        call_command("invite", "study", email=[ADDRESS])

    assert not mails


@pytest.mark.parametrize(
    ("url", "sender", "warns"),
    [
        ("smtp://mail.example.org", "", True),
        ("smtp://mail.example.org", "a@example.org", False),
        ("", "", False),
    ],
)
def test_mail_without_a_sender_is_warned_of(
    monkeypatch: pytest.MonkeyPatch, url: str, sender: str, warns: bool
) -> None:
    monkeypatch.setenv("EMAIL_URL", url)
    monkeypatch.setenv("DEFAULT_FROM_EMAIL", sender)
    assert [found.id for found in run_checks() if found.id == "recruitment.W001"] == [
        "recruitment.W001"
    ] * warns


def test_a_title_cannot_write_headers_into_a_mail(mails: list[EmailMessage]) -> None:
    study = builders.make_study("odd", title="A\r\nBcc: everybody@example.org")
    actions.invite_by_mail(study=study, addresses=[ADDRESS], by=None, now=timezone.now())
    assert "\n" not in mails[0].subject
    assert list(mails[0].message()["To"].split(",")) == [ADDRESS]
    assert mails[0].message()["Bcc"] is None
