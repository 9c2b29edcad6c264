"""The overview, the quality page and a person's page in a browser, on a phone and a desk."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from annotation.models import Assignment
from tests import builders
from tests.browser.checks import assert_good
from tests.browser.conftest import OpenWindow
from tests.browser.pages import sign_in
from tests.dashboard.quality.test_quality_page import fast_one, looked_at

if TYPE_CHECKING:
    from playwright.sync_api import ViewportSize

from tests.browser.windows import DESKTOP, SIZES

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("size", SIZES)
def test_the_figures_of_a_study(
    open_window: OpenWindow, researcher: tuple[str, str], size: ViewportSize
) -> None:
    study = looked_at()
    builders.import_rows(study, [builders.story_row(number) for number in (50, 51)])
    builders.claim(builders.qualified(study)[0])
    window = open_window(viewport=size)
    sign_in(window, researcher)
    name = fast_one(study)
    for page, arguments, text in (
        ("overview", [], "Active leases"),
        ("quality", [], "Complete stories. 1 is full agreement."),
        ("person", [name], "They alone objected to 8 of 24 complete stories"),
    ):
        window.page.goto(reverse(f"dashboard:{page}", args=[study.slug, *arguments]))
        expect(window.page.get_by_text(text).first).to_be_visible()
        assert_good(window)


def test_the_overview_moves_by_itself_and_a_story_is_released_by_the_keyboard(
    open_window: OpenWindow, researcher: tuple[str, str]
) -> None:
    study = builders.make_study("moving", stories=2)
    first, second = builders.qualified(study, 2)
    held = builders.claim(first)
    window = open_window(viewport=DESKTOP)
    sign_in(window, researcher)
    window.page.goto(reverse("dashboard:overview", args=[study.slug]))
    expect(window.page.locator("#now")).to_have_attribute("hx-trigger", "every 2s")
    builders.claim(second)
    expect(window.page.get_by_role("button", name="Release story_")).to_have_count(2)
    window.page.get_by_role("button", name=f"Release {held.story.story_id}, held by").first.focus()
    window.page.keyboard.press("Enter")
    expect(window.page.get_by_text("The story is released to others.")).to_be_visible()
    assert Assignment.objects.get(pk=held.pk).state == Assignment.State.EXPIRED
