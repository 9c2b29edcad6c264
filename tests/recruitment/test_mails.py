"""Invitations, links sent again by researchers, and what the worker does with a mail."""

from __future__ import annotations

import logging
import smtplib
from collections.abc import Callable
from typing import Any

import pytest
from django.core.checks import run_checks
from django.core.mail import EmailMessage
from django.core.management import CommandError, call_command
from django.utils import timezone
from kombu.exceptions import OperationalError

from accounts.models import Annotator
from annotation import actions as annotation_actions
from annotation.models import Enrollment, Event, Study
from recruitment import actions, mails as mail_texts, tasks
from recruitment.errors import MailFailed, MailRefused
from recruitment.links import personal_link
from recruitment.mails import Kind
from tests import builders
from tests.annotation.pages import Browser, token_of
from tests.recruitment.addresses import ADDRESS, ask, confirmed, events, give, links_in
from tomannot.celery import app

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("client")]


@pytest.fixture
def study() -> Study:
    return builders.make_study(title="Stories & more")


@pytest.fixture
def person(study: Study) -> Enrollment:
    return builders.qualified(study)[0]


def test_inviting_by_mail(
    study: Study, mails: list[EmailMessage], capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("invite", "study", "--email", ADDRESS, "--email", "Bob@example.org", "--language", "de")

    links = capsys.readouterr().out.splitlines()
    assert [mail.to for mail in mails] == [[ADDRESS], ["bob@example.org"]]
    assert [f"http://testserver{links_in(mail)[0]}" for mail in mails] == links
    assert mails[0].subject.startswith("Sie sind eingeladen")
    assert mails[0].reply_to == [study.contact]
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


@pytest.mark.parametrize("number", ["999999", "x"])
def test_the_command_knows_the_people(person: Enrollment, number: str) -> None:
    with pytest.raises(CommandError):
        call_command("personal_link", number)


def test_a_link_is_not_revoked_when_the_new_one_cannot_be_sent(person: Enrollment) -> None:
    with pytest.raises(CommandError, match="no confirmed e-mail address"):
        call_command("personal_link", str(person.pk), revoke=True, send=True)
    assert Enrollment.objects.get().link_version == 1


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
    monkeypatch: pytest.MonkeyPatch, answer: Exception, error: Any
) -> None:
    def refuse(self: EmailMessage) -> int:
        raise answer

    monkeypatch.setattr(EmailMessage, "send", refuse)
    with pytest.raises(error) as raised:
        mail_texts.hand_over(EmailMessage("A link", "Here it is.", to=[ADDRESS]))
    assert ADDRESS not in str(raised.value)
    assert raised.value.__cause__ is None
    assert raised.value.__suppress_context__


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


def test_a_mail_server_that_does_not_answer_is_tried_again(
    person: Enrollment, mails: list[EmailMessage], monkeypatch: pytest.MonkeyPatch
) -> None:
    args = (confirmed(person).pk, person.pk, Kind.LINKS)
    mails.clear()
    tries = failing(monkeypatch, ConnectionRefusedError(), times=3)

    result = tasks.send_mail.apply(args=args)

    assert result.successful()
    assert (len(tries), len(mails)) == (4, 1)
    assert not events(Event.Type.LINK_NOT_MAILED)


@pytest.mark.parametrize(
    ("kind", "answer", "most", "said"),
    [
        (Kind.CONFIRMATION, smtplib.SMTPRecipientsRefused({ADDRESS: (550, b"no such user")}), 1, "code 550"),
        (Kind.INVITATION, smtplib.SMTPAuthenticationError(535, b"who are you"), 9, "code 535"),
    ],
    ids=["refused", "never taken"],
)
def test_a_mail_that_is_given_up_is_in_the_log_of_the_study(
    person: Enrollment,
    mails: list[EmailMessage],
    monkeypatch: pytest.MonkeyPatch,
    kind: Kind,
    answer: Exception,
    most: int,
    said: str,
) -> None:
    identity = give(person) if kind == Kind.CONFIRMATION else confirmed(person)
    mails.clear()
    tries = failing(monkeypatch, answer, times=100)

    result = tasks.send_mail.apply(args=(identity.pk, person.pk, kind))

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
