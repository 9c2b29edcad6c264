"""Judging answers by keys, excluding a person, and the slots being served again, in a real browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from annotation import rules
from annotation.models import Adjudication, Story, Vote
from tests import builders
from tests.browser.checks import assert_good
from tests.browser.conftest import OpenWindow
from tests.browser.pages import sign_in
from tests.browser.windows import DESKTOP, SIZES, Window, stories_path

if TYPE_CHECKING:
    from playwright.sync_api import ViewportSize

pytestmark = pytest.mark.browser


def is_served(window: Window, story: Story, path: str) -> None:
    window.page.goto(path)
    expect(window.page.get_by_text(story.content["key_information"]).first).to_be_visible()


@pytest.mark.parametrize("size", SIZES)
def test_a_rejected_answer_and_an_excluded_person_free_slots_that_are_served_again(
    open_window: OpenWindow, researcher: tuple[str, str], size: ViewportSize
) -> None:
    study = builders.make_study("main", stories=2, votes_per_story=1)
    careless, other = builders.qualified(study, 2)
    builders.answer_everything([careless])
    window, annotator = open_window(viewport=size), open_window(viewport=size)
    press = window.page.keyboard.press
    annotator.page.goto(stories_path(other))
    expect(annotator.heading).to_have_text("There are no stories left for you")

    sign_in(window, researcher)
    window.page.goto("/studies/main/quality/review/")
    assert_good(window)
    window.button("Draw answers").click()
    expect(window.heading).to_have_text("Answer 1 of 2")
    expect(window.page.get_by_label("Keyboard shortcuts")).to_be_visible()
    assert_good(window)
    for button in window.page.locator("[data-review] button").all():
        expect(button).to_be_in_viewport(ratio=1)
    press("3")
    expect(window.page.get_by_label("Reason")).to_be_focused()
    window.page.keyboard.type("1 glance only")
    press("Enter")
    expect(window.heading).to_have_text("Answer 2 of 2")
    press("1")
    expect(window.page.get_by_text("1 glance only")).to_be_visible()
    assert_good(window)

    rejected = Story.objects.get(has_free_slot=True)
    is_served(annotator, rejected, stories_path(other))
    annotator.choose(q1="yes", q2="yes", q3="yes", q4="yes")
    annotator.button("Save and continue").click()
    expect(annotator.heading).to_have_text("There are no stories left for you")

    window.link(rejected.story_id).click()
    expect(window.heading).to_have_text(rejected.story_id)
    window.link("Decide as an expert").click()
    expect(window.page.get_by_label("Keyboard shortcuts")).to_be_visible()
    assert_good(window)
    press("2")
    expect(window.page.get_by_label("Reason")).to_be_focused()
    window.page.keyboard.type("A regular occurrence.")
    press("Enter")
    expect(window.page.get_by_text("A regular occurrence.")).to_be_visible()
    for path in ("", "next/?queue=dropped"):
        window.page.goto(f"/studies/main/quality/decisions/{path}")
        assert_good(window)

    pseudonym = rules.pseudonym(study.pseudonym_key, careless.annotator_id)
    window.page.goto(f"/studies/main/people/{pseudonym}/exclude/")
    assert_good(window)
    window.page.get_by_label("Reason").fill("answers at random")
    window.button("Exclude").click()
    expect(window.heading).to_have_text("Excluded")
    assert_good(window)
    is_served(annotator, Story.objects.exclude(pk=rejected.pk).get(), stories_path(other))
    assert Vote.objects.counted().count() == 1

    window.page.get_by_label("Reason for readmitting").fill("a mistake")
    window.button("Readmit").click()
    expect(window.page.get_by_text("Readmitted: 0 votes count again.")).to_be_visible()
    assert not window.foreign_requests()


def test_keys_can_be_switched_off_and_do_nothing_while_somebody_writes(
    open_window: OpenWindow, researcher: tuple[str, str]
) -> None:
    study = builders.make_study("main", stories=2, votes_per_story=1)
    builders.answer_everything(builders.qualified(study))
    window = open_window()
    sign_in(window, researcher)
    window.page.goto("/studies/main/quality/review/")
    window.button("Draw answers").click()
    expect(window.page.get_by_label("Keyboard shortcuts")).to_be_visible()  # from then on they work
    window.page.keyboard.press("4")
    window.page.keyboard.type("123")
    expect(window.page.get_by_label("Reason")).to_have_value("123")
    window.page.keyboard.press("Enter")
    window.page.keyboard.press("Escape")
    window.page.get_by_label("Keyboard shortcuts").uncheck()
    window.page.keyboard.press("1")
    expect(window.heading).to_have_text("Answer 1 of 2")
    window.page.get_by_label("Keyboard shortcuts").check()
    window.page.keyboard.press("1")
    expect(window.heading).to_have_text("Answer 2 of 2")


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
    assert_good(window)
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
    assert_good(window)
