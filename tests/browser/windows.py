"""A browser window that remembers what it asked for and what it complained about."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
from django.utils import timezone

from annotation.models import Enrollment
from recruitment import actions as recruitment_actions
from recruitment.links import visit_path
from tests.conftest import PAGE_MILLISECONDS

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, ConsoleMessage, Locator, Page, Request, ViewportSize

PHONE: ViewportSize = {"width": 390, "height": 844}
DESKTOP: ViewportSize = {"width": 1280, "height": 900}
SIZES = [pytest.param(PHONE, id="phone"), pytest.param(DESKTOP, id="desktop", marks=pytest.mark.torture)]
"""Of journeys: ``assert_good`` looks at each page in both sizes, so one journey is enough every day."""


class Window:
    """A page with its requests and complaints since it was opened."""

    def __init__(self, page: Page, site: str) -> None:
        self.page = page
        self.site = site
        self.requests: list[Request] = []
        self.complaints: list[str] = []
        page.on("request", lambda request: self.requests.append(request))
        page.on("console", self._listen)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))

    def _listen(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(f"{message.type}: {message.text}")

    @property
    def context(self) -> BrowserContext:
        return self.page.context

    @property
    def heading(self) -> Locator:
        """The one first-level heading of the page."""
        return self.page.get_by_role("heading", level=1)

    def button(self, name: str) -> Locator:
        return self.page.get_by_role("button", name=name, exact=True)

    def link(self, name: str) -> Locator:
        return self.page.get_by_role("link", name=name, exact=True)

    def label(self, question: str, option: str) -> Locator:
        """What people press to answer a question with an option."""
        return self.page.locator(f"label[for='{question}-{option}']")

    def radio(self, question: str, option: str) -> Locator:
        return self.page.locator(f"#{question}-{option}")

    def follow(self, pressed: Locator) -> None:
        """Press this and wait for the page that it opens: ``click`` may return while the old one is shown."""
        with self.page.expect_navigation():
            pressed.click()

    def choose(self, **answers: str) -> None:
        """Click the answers (``q1="yes"``); on a phone, step to a question that is not shown."""
        for question, option in answers.items():
            label = self.label(question, option)
            label.wait_for(state="attached")
            if not label.is_visible():
                self.step_to(question)
            label.click()

    def step_to(self, question: str) -> None:
        """On a phone, show this question."""
        number: int = self.page.locator("[data-question]").evaluate_all(
            "(all, name) => all.findIndex((one) => one.querySelector(`[name='${name}']`))", question
        )
        self.page.locator("[data-steps] button").nth(number).click()

    def wait_until(self, holds: str) -> None:
        """Wait until this JavaScript expression is true of the page, as long as for pages.

        Not Playwright's ``wait_for_function``: what it asks a second time it asks inside the page, where the
        policy forbids ``eval``, so that it fails unless the first answer is yes.
        """
        given_up = time.monotonic() + PAGE_MILLISECONDS / 1000
        while not self.page.evaluate(holds):
            assert time.monotonic() < given_up, f"never came true: {holds}"
            self.page.wait_for_timeout(20)

    def foreign_requests(self) -> list[str]:
        """The addresses asked for that are not on the site."""
        return [request.url for request in self.requests if not request.url.startswith(self.site + "/")]


def stories_path(person: Enrollment) -> str:
    """The stories page of a new visit of this person."""
    return visit_path(recruitment_actions.arrive_by_link(enrollment=person, now=timezone.now())) + "stories/"
