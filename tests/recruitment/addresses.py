"""Addresses that people give and confirm, and the mails that they get."""

from __future__ import annotations

import re

from django.core.mail import EmailMessage
from django.utils import timezone

from accounts.models import PlatformIdentity
from annotation.models import Enrollment, Event
from recruitment import actions
from tests.annotation.pages import Browser

ADDRESS = "ada@example.org"
LINK = re.compile(r"http://testserver(/\S+)")


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
