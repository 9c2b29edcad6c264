"""Long German words, and pages from right to left, in a real Chromium: nothing is cut off or too wide."""

from __future__ import annotations

from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import expect

from annotation.models import Enrollment, Study
from dashboard.figures import compute
from tests import builders
from tests.browser.checks import assert_accessible_but_for_colours, assert_fits
from tests.browser.conftest import OpenWindow, path_of
from tests.browser.pages import OWN, REFUSALS, sign_in
from tests.browser.windows import DESKTOP, PHONE, Window, stories_path

pytestmark = pytest.mark.browser

ONE_OF_EACH = [
    (REFUSALS | OWN)[name][0]
    for name in ("nothing free", "declined", "failed", "answers", "place", "changing")
]
"""States whose pages have the longest texts, buttons and tables."""


@pytest.fixture(params=["de", pytest.param("ar", marks=pytest.mark.torture)])
def foreign(request: pytest.FixtureRequest, open_window: OpenWindow, settings: Any) -> Window:
    """A phone that speaks German or Arabic; ours has no Arabic texts, but its direction."""
    settings.LANGUAGES = [*settings.LANGUAGES, ("ar", "العربية")]
    return open_window(locale=request.param)


def assert_good_on_all_screens(window: Window) -> None:
    page = window.page.locator("html")
    assert (page.get_attribute("lang"), page.get_attribute("dir")) in (("de", "ltr"), ("ar", "rtl"))
    for size in (DESKTOP, PHONE):
        window.page.set_viewport_size(size)
        overhang = window.page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert overhang <= 0, f"{window.page.url} at {size['width']} px"
    assert_fits(window)
    assert_accessible_but_for_colours(window)


def test_the_pages_of_a_journey_fit(foreign: Window) -> None:
    page = foreign.page
    tested = builders.make_study("tested", qualification=1, description="A few short stories.")
    page.goto(path_of(builders.invite(tested)[0]))
    for button in ("main form button", "[value=agree]", "main .actions a.button", "main form button"):
        assert_good_on_all_screens(foreign)
        foreign.follow(page.locator(button))
    foreign.choose(**builders.ALL_YES)
    foreign.follow(page.locator("[data-answers] [type=submit]"))
    assert_good_on_all_screens(foreign)


@pytest.mark.parametrize("language", ["ar", pytest.param("de", marks=pytest.mark.torture)])
def test_the_story_page_fits_and_keys_answer(
    open_window: OpenWindow, person: Enrollment, settings: Any, language: str
) -> None:
    settings.LANGUAGES = [*settings.LANGUAGES, ("ar", "العربية")]
    foreign = open_window(locale=language)
    page = foreign.page
    page.goto(stories_path(person))
    assert_good_on_all_screens(foreign)
    page.locator("[data-help]").click()
    assert_good_on_all_screens(foreign)
    page.locator("h1").click()
    for key in "1111":
        page.keyboard.press(key)
    page.keyboard.press("Enter")
    expect(page.locator(".receipt")).to_be_visible()
    assert_good_on_all_screens(foreign)


def test_other_pages_fit(foreign: Window) -> None:
    for number, arrange in enumerate(ONE_OF_EACH):
        foreign.page.goto(arrange(builders.make_study(f"study-{number}", stories=4, votes_per_story=1)))
        assert_good_on_all_screens(foreign)


def test_the_researchers_pages_fit_in_german(
    open_window: OpenWindow, researcher: tuple[str, str], sample: Study
) -> None:
    window = open_window(locale="de")
    window.page.goto(reverse("accounts:sign_in"))
    assert_good_on_all_screens(window)
    sign_in(window, researcher)
    window.page.goto(reverse("dashboard:studies"))
    assert_good_on_all_screens(window)
    window.page.goto(reverse("dashboard:overview", args=[sample.slug]))
    assert_good_on_all_screens(window)
    builders.answer_everything(builders.qualified(sample, 3))
    compute.make(sample.pk, now=timezone.now())
    window.page.reload()
    expect(window.page.locator("#against")).to_be_visible()
    assert_good_on_all_screens(window)
