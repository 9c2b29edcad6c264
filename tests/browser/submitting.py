"""A window with the first story of a person on it."""

from __future__ import annotations

from playwright.sync_api import expect

from annotation.models import Enrollment
from tests.browser.windows import Window, stories_path

FORM = {"q1": "possibly", "q2": "yes", "q3": "no", "q4": "yes"}


def on_story(window: Window, number: int) -> None:
    expect(window.heading).to_have_text(f"Story {number}")


def at_first_story(window: Window, person: Enrollment) -> Window:
    window.page.goto(stories_path(person))
    on_story(window, 1)
    return window
