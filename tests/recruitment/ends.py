"""Pages where the way of people who came by a join link can end, and how they come there."""

from __future__ import annotations

from collections.abc import Callable

from django.utils import timezone

from annotation import actions
from annotation.models import Enrollment, Study
from tests import builders
from tests.annotation.pages import Browser

BACK = "https://app.example.org/return"
NEEDS_CODE = f"{BACK}?cc={{code}}"
RETURN_IT = "return your submission"
CLOSING = "You have helped us. See you soon."
Move = Callable[[Enrollment], object]


FINISH = "Finish and get my code"


def code_on(browser: Browser) -> list[str]:
    """Press the button that finishes, if the page has one, and return the code that it leads to."""
    if finish_on(browser):
        browser.open(finish_on(browser)[0])
    return [str(code) for code in browser.document.xpath("//output[@id='completion-code']/text()")]


def finish_on(browser: Browser) -> list[str]:
    found = browser.document.xpath(f"//a[contains(@class, 'button')][normalize-space()='{FINISH}']/@href")
    return [str(address) for address in found]


def said_on(browser: Browser) -> str:
    return " ".join(browser.document.xpath("//main")[0].text_content().split())


def visit_endings(browser: Browser) -> list[str]:
    return [str(address) for address in browser.document.xpath("//a[starts-with(@href, 'https://')]/@href")]


def suspend(person: Enrollment) -> object:
    return actions.suspend(enrollment=person, by=None, now=timezone.now(), reason="too fast")


def pause(person: Enrollment) -> object:
    return actions.pause_study(study=person.study, by=None, now=timezone.now())


def close(person: Enrollment) -> object:
    return actions.close_study(study=person.study, by=None, now=timezone.now())


def stopped(study: Study) -> Enrollment:
    (person,) = builders.qualified(study)
    builders.vote(person)
    return person


def withdraw(person: Enrollment) -> object:
    return actions.withdraw(enrollment=person, now=timezone.now())


def nothing_left(study: Study) -> Enrollment:
    builders.answer_everything(builders.qualified(study))
    return builders.consent(builders.invite(study)[0])
