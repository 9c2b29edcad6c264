"""Researchers judge answers, decide about stories and walk through their list by keys."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from annotation.models import Adjudication, SpotCheck, Story
from tests import builders
from tests.browser.conftest import OpenWindow
from tests.browser.pages import sign_in
from tests.browser.windows import DESKTOP, Window

pytestmark = pytest.mark.browser


def test_answers_are_judged_by_keys(window: Window, researcher: tuple[str, str]) -> None:
    study = builders.make_study("main", stories=3, votes_per_story=1)
    builders.answer_everything(builders.qualified(study))
    page, press = window.page, window.page.keyboard.press
    reason, keys = page.get_by_label("Reason"), page.get_by_label("Keyboard shortcuts")
    sign_in(window, researcher)
    page.goto("/studies/main/quality/review/")
    window.button("Draw answers").click()
    expect(window.heading).to_have_text("Answer 1 of 3")
    expect(keys).to_be_visible()  # from then on they work
    for button in page.locator("[data-review] button").all():
        expect(button).to_be_in_viewport(ratio=1)
    press("3")
    expect(reason).to_be_focused()
    page.keyboard.type("1 glance only")
    press("Enter")
    expect(window.heading).to_have_text("Answer 2 of 3")
    expect(keys).to_be_visible()
    keys.uncheck()
    press("1")
    expect(window.heading).to_have_text("Answer 2 of 3")
    keys.check()
    press("1")
    expect(window.heading).to_have_text("Answer 3 of 3")
    rejected = SpotCheck.objects.get(decision=SpotCheck.Decision.REJECT)
    assert rejected.reason == "1 glance only"

    page.goto(f"/studies/main/quality/decisions/of/{rejected.vote.assignment.story.story_id}/")
    expect(keys).to_be_visible()
    press("2")
    expect(reason).to_be_focused()
    page.keyboard.type("A regular occurrence.")
    press("Enter")
    expect(page.get_by_text("A regular occurrence.")).to_be_visible()


def test_stories_are_gone_through_by_keys_and_decided_together(
    open_window: OpenWindow, researcher: tuple[str, str]
) -> None:
    study = builders.make_study("main", stories=4, votes_per_story=1)
    builders.answer_everything(builders.qualified(study))
    first, second, third, _fourth = Story.objects.order_by("story_id").values_list("story_id", flat=True)
    window = open_window(viewport=DESKTOP)
    page, press = window.page, window.page.keyboard.press
    sign_in(window, researcher)
    page.goto("/studies/main/stories/?text=shed")
    expect(page.get_by_label("Keyboard shortcuts")).to_be_visible()  # from then on they work
    for key, story_id in (("j", first), ("j", second), ("j", third), ("k", second)):
        press(key)
        expect(window.link(story_id)).to_be_focused()
    press("x")
    press("j")
    press("x")
    expect(page.locator("input[name=story]:checked")).to_have_count(2)
    page.get_by_label("Reason").fill("jxk: letters, while a field has the focus")
    expect(page.locator("input[name=story]:checked")).to_have_count(2)
    window.button("Not valid").click()
    expect(page.get_by_text("2 stories are decided.")).to_be_visible()
    assert page.url.endswith("/studies/main/stories/?text=shed")
    decided = Adjudication.objects.order_by("story__story_id").values_list("story__story_id", flat=True)
    assert list(decided) == [second, third]

    press("j")
    press("Enter")
    expect(window.heading).to_have_text(first)
    expect(page.get_by_label("Keyboard shortcuts")).to_be_visible()
    press("j")
    expect(window.heading).to_have_text(second)
    expect(page.get_by_label("Keyboard shortcuts")).to_be_visible()
    press("k")
    expect(window.heading).to_have_text(first)
