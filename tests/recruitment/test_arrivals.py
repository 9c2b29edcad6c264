"""Everybody who opens their personal link is greeted by where they stand, and led to their place."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.utils import timezone

from annotation import actions
from annotation.models import Enrollment, Study
from recruitment.links import personal_link
from tests import builders
from tests.annotation.pages import Browser

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("client")]


@pytest.fixture
def study() -> Study:
    return builders.make_study(qualification=1, stories=1)


def invited(study: Study) -> Enrollment:
    return builders.invite(study)[0]


def declined(study: Study) -> Enrollment:
    return actions.decline_consent(enrollment=invited(study), now=timezone.now())


def consented(study: Study) -> Enrollment:
    return builders.consent(invited(study))


def failed(study: Study) -> Enrollment:
    return builders.take_test(consented(study), builders.answers(q4="no"))


def qualified(study: Study) -> Enrollment:
    return builders.qualified(study)[0]


def suspended(study: Study) -> Enrollment:
    return actions.suspend(enrollment=qualified(study), by=None, now=timezone.now(), reason="too fast")


def withdrawn(study: Study) -> Enrollment:
    return actions.withdraw(enrollment=qualified(study), now=timezone.now())


def of_a_finished_study(study: Study) -> Enrollment:
    person = qualified(study)
    actions.close_study(study=study, by=None, now=timezone.now())
    return person


BACK = "Welcome back"
GREETINGS: dict[str, tuple[Callable[[Study], Enrollment], str, str, str, str]] = {
    "invited": (
        invited,
        "You are invited to read stories",
        "We ask for your consent.",
        "Start",
        "Do you agree to take part?",
    ),
    "declined": (
        declined,
        BACK,
        "You didn’t agree to take part",
        "Read it again",
        "Do you agree to take part?",
    ),
    "consented": (consented, BACK, "You continue where you stopped.", "Continue", "First, 1 test story"),
    "qualified": (qualified, BACK, "You continue where you stopped.", "Continue", "Story 1"),
    "failed": (failed, BACK, "ended with the test", "See your status", "Thank you for trying"),
    "suspended": (
        suspended,
        BACK,
        "Your participation is paused",
        "See your status",
        "You can’t continue right now",
    ),
    "withdrawn": (withdrawn, BACK, "You have left this study", "See your status", "You have left this study"),
    "finished": (
        of_a_finished_study,
        BACK,
        "The study is finished.",
        "See your status",
        "The study is finished",
    ),
}
"""Per standing: how to come to it; the heading, a text and the button of the link's page; where it leads."""


@pytest.mark.parametrize(("arrange", "heading", "text", "button", "place"), GREETINGS.values(), ids=GREETINGS)
def test_the_link_greets_people_by_where_they_stand(
    study: Study, arrange: Callable[[Study], Enrollment], heading: str, text: str, button: str, place: str
) -> None:
    browser = Browser()
    browser.open(personal_link(arrange(study)))

    said = " ".join(browser.document.text_content().split())
    assert browser.heading == heading
    assert text in said
    invited_again = "What to expect" in said
    assert invited_again == (heading != BACK)

    browser.press(button)

    assert browser.heading == place


def test_whoever_declined_comes_back_by_the_way_they_are_shown(study: Study) -> None:
    browser = Browser()
    browser.open(personal_link(declined(study)))
    browser.press("Read it again")
    browser.press("I agree")
    assert browser.heading == "Instructions"
