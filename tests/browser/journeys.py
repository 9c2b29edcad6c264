"""The way of an annotator through the pages, by whatever they operate a browser with."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from playwright.sync_api import expect

from annotation.models import Enrollment, Vote
from tests.browser.windows import Window
from tests.builders import SAMPLE

if TYPE_CHECKING:
    from playwright.sync_api import Locator

Form = Mapping[str, str]
SAVE = "Save and continue"
FORMS: tuple[Form, ...] = (
    {"q1": "possibly", "q2": "yes", "q3": "no", "q4": "yes"},
    {"q1": "no", "q2": "possibly", "q3": "yes", "q4": "no"},
    {"q1": "yes", "q2": "no", "q3": "yes", "q4": "yes"},
)
"""What a person answers to the stories they are given, in turn; every option occurs."""


class Hands(Protocol):
    """A way to operate the pages."""

    def press(self, window: Window, target: Locator) -> None:
        """Follow the link, or press the button."""

    def answer(self, window: Window, form: Form) -> None:
        """Choose the options and send the form."""


class Mouse:
    def press(self, window: Window, target: Locator) -> None:
        target.click()

    def answer(self, window: Window, form: Form) -> None:
        for question, option in form.items():
            self.press(window, window.label(question, option))
            expect(window.radio(question, option)).to_be_checked()
        self.press(window, window.button(SAVE))


class Touch(Mouse):
    def press(self, window: Window, target: Locator) -> None:
        target.tap()


class Digits:
    """Only the keyboard: Tab to links and buttons, digits for the answers, Enter to send."""

    def press(self, window: Window, target: Locator) -> None:
        tab_to(window, target)
        window.page.keyboard.press("Enter")

    def answer(self, window: Window, form: Form) -> None:
        expect(window.page.get_by_label("Keyboard shortcuts")).to_be_visible()  # from then on they work
        for question, option in form.items():
            radio = window.radio(question, option)
            window.page.keyboard.press(radio.get_attribute("data-key") or "")
            expect(radio).to_be_checked()
        expect(window.button(SAVE)).to_be_focused()
        window.page.keyboard.press("Enter")


class Arrows(Digits):
    """Only the keys every form has: Tab from question to question, Space and arrows within one."""

    def answer(self, window: Window, form: Form) -> None:
        for question, option in form.items():
            group = window.page.locator(f"input[name='{question}']")
            tab_to(window, group.first)
            window.page.keyboard.press("Space")
            for _ in range(group.count()):
                if window.radio(question, option).is_checked():
                    break
                window.page.keyboard.press("ArrowRight")
            expect(window.radio(question, option)).to_be_checked()
        self.press(window, window.button(SAVE))


def tab_to(window: Window, target: Locator, limit: int = 60) -> None:
    """Press Tab until the target has the focus."""
    for _ in range(limit):
        if target.evaluate("element => element === document.activeElement"):
            return
        window.page.keyboard.press("Tab")
    raise AssertionError(f"Tab does not reach {target} in {limit} steps.")


def walk(
    window: Window, link: str, hands: Hands, tests: Sequence[Form], forms: Sequence[Form] = FORMS
) -> Iterator[str]:
    """From a personal link to the page for stopping, by a test with these answers, story by story.

    Yields the name of every page while it is on the screen.
    """
    window.page.goto(link)
    yield from _stop(window, "You are invited to read stories")
    hands.press(window, window.button("Start"))
    yield from _stop(window, "Do you agree to take part?")
    hands.press(window, window.button("I agree"))
    yield from _stop(window, "Instructions")
    hands.press(window, window.link("Continue"))
    yield from _stop(window, f"First, {len(tests)} test {'story' if len(tests) == 1 else 'stories'}")
    hands.press(window, window.button("Start the test"))
    for number, form in enumerate(tests, 1):
        yield from _stop(window, f"Test story {number} of {len(tests)}")
        hands.answer(window, form)
    yield from _stop(window, "Check your answers")
    hands.press(window, window.button("Hand in"))
    yield from _stop(window, "You passed")
    hands.press(window, window.link("Read the first story"))
    for number, form in enumerate(forms, 1):
        yield from _stop(window, f"Story {number}")
        hands.answer(window, form)
    yield from _stop(window, f"Story {len(forms) + 1}")
    hands.press(window, window.button("Stop here"))
    yield from _stop(window, "Thank you")


def passing_forms() -> list[Form]:
    """One accepted form per test story of the sample study, in the order of its round."""
    rows = (SAMPLE / "qualification.jsonl").read_text(encoding="utf-8").splitlines()
    key = json.loads((SAMPLE / "answer_key.json").read_text(encoding="utf-8"))["stories"]
    return [
        {question: accepted[0] for question, accepted in key[json.loads(row)["story_id"]].items()}
        for row in rows
    ]


def stored_forms(person: Enrollment) -> list[Form]:
    """What the database says this person answered, in the order the stories were served."""
    votes = Vote.objects.filter(assignment__enrollment=person).order_by("order_position", "revision")
    return [
        {answer.question: answer.option for answer in vote.answers.order_by("question")} for vote in votes
    ]


def _stop(window: Window, heading: str) -> Iterator[str]:
    expect(window.heading).to_have_text(heading)
    yield heading
