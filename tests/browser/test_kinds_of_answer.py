"""Words, several options, optional and dependent questions on a phone, at a desk, and without scripts."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from annotation.models import Enrollment, Vote
from annotation.protocols.base import Protocol
from tests import builders
from tests.browser.checks import assert_good
from tests.browser.conftest import OpenWindow
from tests.browser.journeys import SAVE
from tests.browser.windows import DESKTOP, PHONE, stories_path
from tests.kinds import STORIES

pytestmark = pytest.mark.browser


def somebody() -> Enrollment:
    study = builders.make_study("mixed", protocol="dialogues", stories=STORIES)
    return builders.qualified(study, 1)[0]


def stored(person: Enrollment) -> dict[str, str]:
    answers = Vote.objects.get(assignment__enrollment=person).answers.all()
    return {answer.choice.field: answer.choice.option for answer in answers}


def test_on_a_phone_every_question_is_shown_in_its_turn(open_window: OpenWindow, dialogues: Protocol) -> None:
    person = somebody()
    window = open_window(viewport=PHONE)
    page = window.page
    page.goto(stories_path(person))
    steps = page.locator("[data-steps] button").filter(visible=True)
    expect(steps).to_have_count(5)
    page.locator("label[for='fits-no']").click()
    expect(steps).to_have_count(6)
    words = page.locator("[name='why']")
    expect(words).to_be_visible()
    words.fill("It is rude and wrong")
    window.button(SAVE).click()  # first come the questions that nobody has looked at yet
    expect(page.locator("[id='seen.angry']")).to_be_visible()
    page.locator("label[for='seen.angry']").click()
    assert_good(window)
    steps.nth(3).click()
    page.locator("label[for='natural-4']").click()
    expect(page.locator("label[for='mood-sad']")).to_be_visible()
    page.locator("label[for='mood-']").click()
    expect(page.locator("[name='note']")).to_be_visible()
    window.button(SAVE).click()
    expect(window.heading).to_have_text("Story 2")
    assert stored(person) == {
        "fits": "no",
        "why": "It is rude and wrong",
        "seen.angry": "yes",
        "seen.polite": "no",
        "natural": "4",
    }


def test_at_a_desk_a_dependent_question_comes_and_goes(open_window: OpenWindow, dialogues: Protocol) -> None:
    person = somebody()
    window = open_window(viewport=DESKTOP)
    page = window.page
    page.goto(stories_path(person))
    words = page.locator("[name='why']")
    expect(words).to_be_hidden()
    page.locator("label[for='fits-no']").click()
    window.button(SAVE).click()
    alert = page.get_by_role("alert").filter(visible=True)
    expect(alert.get_by_role("link")).to_have_count(2)
    expect(words).to_be_focused()
    words.fill("It is odd")
    page.locator("label[for='seen.polite']").click()
    page.reload()
    expect(words).to_have_value("It is odd")
    expect(page.locator("[id='seen.polite']")).to_be_checked()
    page.locator("label[for='fits-yes']").click()
    expect(words).to_be_hidden()
    page.locator("label[for='natural-2']").click()
    window.button(SAVE).click()
    expect(window.heading).to_have_text("Story 2")
    assert stored(person) == {"fits": "yes", "seen.angry": "no", "seen.polite": "yes", "natural": "2"}


def test_without_scripts_the_form_says_what_may_be_left_open(
    open_window: OpenWindow, dialogues: Protocol
) -> None:
    person = somebody()
    window = open_window(viewport=PHONE, java_script_enabled=False)
    window.page.goto(stories_path(person))
    expect(window.page.get_by_text("Only after “No” to “Fits”.")).to_be_visible()
    expect(window.page.get_by_text("Optional", exact=True)).to_have_count(2)
    window.page.locator("label[for='fits-yes']").click()
    window.page.locator("label[for='natural-5']").click()
    window.button(SAVE).click()
    expect(window.heading).to_have_text("Story 2")
    assert stored(person)["natural"] == "5"
