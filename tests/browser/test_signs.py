"""The browser reports input with each vote, and tells a person's clicks and keys from a script's."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from annotation.models import Enrollment, Vote
from tests.browser.conftest import OpenWindow
from tests.browser.journeys import SAVE
from tests.browser.submitting import at_first_story
from tests.browser.windows import DESKTOP, Window

pytestmark = pytest.mark.browser


def newest(window: Window, story: int) -> Vote:
    expect(window.heading).to_have_text(f"Story {story + 1}")
    return Vote.objects.latest("pk")


def test_a_persons_input_is_trusted_and_a_scripts_is_not(open_window: OpenWindow, person: Enrollment) -> None:
    window = at_first_story(open_window(viewport=DESKTOP), person)
    for key in ("1", "1", "1", "1", "Enter"):  # the last presses the button, too
        window.page.keyboard.press(key)
    typed = newest(window, 1)
    assert (typed.trusted_events, typed.untrusted_events) == (6, 0), "our own click for a key is none"
    times = [answer.seconds for answer in typed.answers.all() if answer.seconds is not None]
    assert len(times) == 4
    assert sum(times) <= typed.seconds_on_task + 0.5

    window.choose(q1="yes", q2="yes", q3="no", q4="yes")
    window.button(SAVE).click()
    clicked = newest(window, 2)
    assert clicked.trusted_events is not None
    assert clicked.trusted_events >= 5
    assert clicked.untrusted_events == 0

    window.page.evaluate(
        """() => {
            for (const name of ["q1", "q2", "q3", "q4"]) document.getElementById(`${name}-yes`).click();
            document.querySelector("[data-answers] [type=submit]").click();
        }"""
    )
    scripted = newest(window, 3)
    assert scripted.trusted_events == 0
    assert scripted.untrusted_events == 5
    assert scripted.lacks_trusted_input
    assert scripted.answers.count() == 4, "and it is stored like any other"
