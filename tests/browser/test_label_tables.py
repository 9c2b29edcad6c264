"""Seven labels for each of many beliefs: checked on a phone and a desk, by mouse and by keys."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from django.test import Client
from playwright.sync_api import expect

from annotation.models import Enrollment, Vote
from dashboard.settings.sample_study import SAMPLES
from tests import builders
from tests.browser.checks import assert_good
from tests.browser.conftest import OpenWindow
from tests.browser.journeys import SAVE
from tests.browser.pages import sign_in
from tests.browser.windows import PHONE, SIZES, Window, stories_path
from tests.dashboard.worlds import split_over_labels
from tests.worlds import built_once

if TYPE_CHECKING:
    from playwright.sync_api import ViewportSize

pytestmark = pytest.mark.browser

BELIEFS = 8
MANY, KILOBYTES = 25, 60


@built_once
def labeller(beliefs: int = BELIEFS) -> Enrollment:
    """Somebody with a story of so many beliefs. Of the last one no label is suggested."""
    file = SAMPLES["belief-labels"].parent / "stories.jsonl"
    stories = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()[:2]]
    for story in stories:
        story["beliefs"] = [
            {**story["beliefs"][number % 5], "id": f"b{number + 1}"} for number in range(beliefs)
        ]
        del story["beliefs"][-1]["labels"]
    study = builders.make_study("beliefs", protocol="belief-labels", stories=stories)
    return builders.qualified(study, 1)[0]


def choose_the_rest(window: Window) -> None:
    for cell in window.page.locator(f"select[name$='.b{BELIEFS}']").all():
        cell.select_option(index=1)


@pytest.mark.parametrize("size", SIZES)
def test_labels_are_checked_below_the_story_and_changed_by_keys(
    open_window: OpenWindow, size: ViewportSize
) -> None:
    person = labeller()
    window = open_window(viewport=size)
    page = window.page
    page.goto(stories_path(person))
    story = page.locator(".parts--long")
    first = page.locator("select[name='order.b1']")
    expect(first).to_have_value("0")
    first.focus()
    page.keyboard.press("2")
    expect(first).to_have_value("2")
    expect(first.locator("..")).to_have_attribute("data-note", "Suggestion: 0")
    first.select_option("0")
    expect(first.locator("..")).to_have_attribute("data-note", "")
    first.focus()
    page.keyboard.press("Tab")
    expect(page.locator("select[name='truth.b1']")).to_be_focused()
    page.keyboard.press("?")
    expect(page.get_by_text("Is what is believed true in the story?")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("select[name='truth.b1']")).to_be_focused()
    last = page.locator(f"select[name='context.b{BELIEFS}']")
    last.scroll_into_view_if_needed()
    above, below = story.bounding_box(), last.bounding_box()
    assert above
    assert below
    assert 0 <= above["y"] <= above["y"] + above["height"] <= below["y"]
    window.button(SAVE).click()
    alert = page.get_by_role("alert").filter(visible=True)
    expect(alert.get_by_role("link")).to_have_count(7)
    expect(page.locator(f"select[name='order.b{BELIEFS}']")).to_be_focused()
    assert_good(window)
    choose_the_rest(window)
    page.locator("select[name='truth.b2']").select_option("unknown")
    page.reload()
    expect(page.locator("select[name='truth.b2']")).to_have_value("unknown")
    expect(page.locator("label:has([name='truth.b2'])")).to_have_attribute("data-note", "Suggestion: True")
    window.button(SAVE).click()
    expect(window.heading).to_have_text("Story 2")
    vote = Vote.objects.get(assignment__enrollment=person)
    assert vote.answers.count() == 7 * BELIEFS
    assert vote.answers.get(question="truth", row="b2").option == "unknown"


def test_a_form_that_nobody_touched_is_saved_by_its_button_alone(open_window: OpenWindow) -> None:
    """Every label is suggested, so nothing is missing."""
    file = SAMPLES["belief-labels"].parent / "stories.jsonl"
    stories = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()[:3]]
    study = builders.make_study("suggested", protocol="belief-labels", stories=stories)
    window = open_window()
    window.page.goto(stories_path(builders.qualified(study, 1)[0]))
    window.page.keyboard.press("Enter")
    window.page.evaluate(
        """() => document.addEventListener("htmx:afterSwap", () => {
            document.querySelector("#answers [type=submit]").click();
        }, { once: true })"""
    )
    window.button(SAVE).click()
    expect(window.heading).to_have_text("Story 2")
    expect(window.page.locator("#work .receipt")).to_be_visible()
    assert Vote.objects.count() == 1


@pytest.mark.django_db
def test_annotators_are_not_told_which_table_was_predicted(client: Client) -> None:
    file = SAMPLES["alignment"].parent / "tables.jsonl"
    tables = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    study = builders.make_study("tables", protocol="alignment", stories=tables)
    page = client.get(stories_path(builders.qualified(study, 1)[0])).content.decode()
    assert "Table A" in page
    assert not [word for word in ("predicted", "gold", "sample-model") if word in page.lower()]


@pytest.mark.django_db
def test_the_page_of_many_beliefs_is_small(client: Client) -> None:
    page = client.get(stories_path(labeller(MANY)))
    assert page.content.count(b"<select") == 7 * MANY
    assert len(page.content) <= KILOBYTES * 1024


def test_the_form_for_undecided_labels_is_accessible(
    open_window: OpenWindow, researcher: tuple[str, str]
) -> None:
    """``dashboard.quality.test_label_decisions`` sends it."""
    split_over_labels("beliefs", "content.b1")
    window = open_window(viewport=PHONE)
    sign_in(window, researcher)
    window.page.goto("/studies/beliefs/quality/decisions/")
    window.follow(window.link("Decide undecided labels"))
    expect(window.page.locator("select")).to_have_count(1)
    assert_good(window)
