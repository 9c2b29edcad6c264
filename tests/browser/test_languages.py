"""Long German words, and pages from right to left, in a real Chromium: nothing is cut off or too wide."""

from __future__ import annotations

from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import expect

from annotation.models import Enrollment
from dashboard.figures import compute
from tests import builders
from tests.browser.checks import assert_fits
from tests.browser.conftest import OpenWindow, path_of
from tests.browser.pages import OWN, REFUSALS, sign_in
from tests.browser.windows import DESKTOP, Window, stories_path

pytestmark = pytest.mark.browser

ONE_OF_EACH = [(REFUSALS | OWN)[name][0] for name in ("failed", "answers", "place")]
"""States whose pages have the longest texts, buttons and tables."""


@pytest.fixture(params=["de", pytest.param("ar", marks=pytest.mark.torture)])
def foreign(request: pytest.FixtureRequest, open_window: OpenWindow, settings: Any) -> Window:
    """A desk that speaks German or Arabic; ours has no Arabic texts, but its direction."""
    settings.LANGUAGES = [*settings.LANGUAGES, ("ar", "العربية")]
    return open_window(locale=request.param, viewport=DESKTOP)


def assert_fits_all_screens(window: Window) -> None:
    page = window.page.locator("html")
    assert (page.get_attribute("lang"), page.get_attribute("dir")) in (("de", "ltr"), ("ar", "rtl"))
    overhang = window.page.evaluate("document.documentElement.scrollWidth - innerWidth")
    assert overhang <= 0, window.page.url
    assert_fits(window)


def test_the_pages_of_annotators_fit(foreign: Window) -> None:
    page = foreign.page
    tested = builders.make_study("tested", qualification=1, description="A few short stories.")
    page.goto(path_of(builders.invite(tested)[0]))
    for button in ("main form button", "[value=agree]", "main .actions a.button", "main form button"):
        assert_fits_all_screens(foreign)
        foreign.follow(page.locator(button))
    study = builders.make_study("study", stories=8, votes_per_story=1)
    for arrange in ONE_OF_EACH:
        foreign.page.goto(arrange(study))
        assert_fits_all_screens(foreign)


def test_where_people_write_from_the_right_a_story_fits_and_back_is_to_the_right(
    open_window: OpenWindow, person: Enrollment, settings: Any
) -> None:
    settings.LANGUAGES = [*settings.LANGUAGES, ("ar", "العربية")]
    window = open_window(locale="ar", viewport=DESKTOP)
    page = window.page
    page.goto(stories_path(person))
    for key in ("1", "1", "ArrowRight"):
        page.keyboard.press(key)
    expect(window.radio("q2", "yes")).to_be_focused()
    page.keyboard.press("ArrowLeft")
    expect(window.radio("q3", "yes")).to_be_focused()
    expect(page.locator(".keys .key").get_by_text("→")).to_have_count(1)
    page.locator("[data-help]").click()
    assert_fits_all_screens(window)


def test_the_researchers_pages_fit_in_german(open_window: OpenWindow, researcher: tuple[str, str]) -> None:
    study = builders.make_study("busy", stories=3)
    builders.answer_everything(builders.qualified(study, 3))
    compute.make(study.pk, now=timezone.now())
    window = open_window(locale="de", viewport=DESKTOP)
    sign_in(window, researcher)
    window.page.goto(reverse("dashboard:studies"))
    assert_fits_all_screens(window)
    window.page.goto(reverse("dashboard:overview", args=[study.slug]))
    expect(window.page.locator("#against")).to_be_visible()
    assert_fits_all_screens(window)
