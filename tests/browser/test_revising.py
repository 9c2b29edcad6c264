"""A researcher revises a story, on a phone and on a desk, and sees what differs between its versions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.annotation.test_revisions import TEXT, inspected
from tests.browser.checks import assert_good
from tests.browser.conftest import OpenWindow
from tests.browser.pages import sign_in
from tests.browser.windows import SIZES

if TYPE_CHECKING:
    from playwright.sync_api import ViewportSize

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("size", SIZES)
def test_a_story_is_revised_on_its_page(
    open_window: OpenWindow, researcher: tuple[str, str], size: ViewportSize
) -> None:
    study = inspected()
    window = open_window(viewport=size)
    sign_in(window, researcher)
    page = window.page
    page.goto(f"/studies/{study.slug}/stories/narrative-1/")
    window.link("Revise").click()
    assert_good(window)
    page.get_by_label("Story").fill(TEXT)
    page.get_by_label("Reason").fill("Shorter.")
    window.button("Save as a new version").click()
    expect(window.heading).to_have_text("narrative-1.r2")
    expect(page.locator(".versions ins").first).to_be_visible()
    expect(page.locator(".versions del").first).to_be_visible()
    assert_good(window)
    page.get_by_role("link", name="narrative-1", exact=True).click()
    expect(page.get_by_text("This is an old version.")).to_be_visible()
    expect(page.get_by_role("link", name="Revise", exact=True)).to_have_count(0)
    assert_good(window)
