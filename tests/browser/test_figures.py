"""The overview in a browser: it moves by itself, and stories are released on it."""

from __future__ import annotations

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from annotation.models import Assignment
from tests import builders
from tests.browser.checks import assert_good
from tests.browser.conftest import OpenWindow
from tests.browser.pages import sign_in
from tests.browser.windows import DESKTOP

pytestmark = pytest.mark.browser


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
    assert_good(window)
    window.page.get_by_role("button", name=f"Release {held.story.story_id}, held by").first.focus()
    window.page.keyboard.press("Enter")
    expect(window.page.get_by_text("The story is released to others.")).to_be_visible()
    assert Assignment.objects.get(pk=held.pk).state == Assignment.State.EXPIRED
