"""A narrative of ten thousand characters with five questions: read and answered on a phone and on a desk."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest
from django.test import Client
from playwright.sync_api import expect

from annotation.models import Enrollment, Vote
from dashboard.settings.sample_study import SAMPLES
from tests import builders
from tests.browser.conftest import OpenWindow
from tests.browser.pages import look_at
from tests.browser.windows import PHONE, SIZES, stories_path
from tests.worlds import built_once

if TYPE_CHECKING:
    from playwright.sync_api import ViewportSize

pytestmark = pytest.mark.browser

LONGEST, KILOBYTES = 10_000, 60
ROWS = ("place-1", "place-2", "reach-1", "reach-2", "feel")
NEWLINE = "\n"
READS = "She carried the small map from one room to the next and told nobody where she had put it. "


@built_once
def reader() -> Enrollment:
    file = SAMPLES["narrative-validation"].parent / "narratives.jsonl"
    narratives = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()[:2]]
    for narrative in narratives:
        narrative["narrative"] = (
            f"{narrative['narrative']}\n{(READS * 9 + NEWLINE) * 20}"[: LONGEST - 1].rstrip() + "."
        )
    study = builders.make_study("narratives", protocol="narrative-validation", stories=narratives)
    (person,) = builders.qualified(study, 1)
    return person


@pytest.mark.parametrize("size", SIZES)
def test_the_story_stays_in_view_while_its_questions_are_answered_by_keys(
    open_window: OpenWindow, size: ViewportSize
) -> None:
    person = reader()
    window = open_window(viewport=size)
    page = window.page
    page.goto(stories_path(person))
    story = page.locator(".parts--long")
    look_at(window, unfolded=False)
    for digit in "12123":
        page.keyboard.press(digit)
    for row, option in zip(ROWS, ("first", "no", "more", "no", "neg"), strict=True):
        expect(page.locator(f"[id='answer.{row}-{option}']")).to_be_checked()
    page.locator("[data-row]").last.scroll_into_view_if_needed()
    box, last = story.bounding_box(), page.locator("[data-row]").last.bounding_box()
    assert box
    assert last
    assert box["y"] >= 0, "the story is in view"
    assert box["height"] <= size["height"] * (0.26 if size == PHONE else 0.45)
    assert last["y"] >= box["y"] + box["height"], "and covers no question"
    assert story.evaluate("(part) => part.scrollHeight > 3 * part.clientHeight"), "it scrolls by itself"
    page.get_by_text("Show the whole text").click()
    assert story.evaluate("(part) => part.scrollHeight == part.clientHeight"), "until it is wanted in whole"


@pytest.mark.django_db
def test_the_page_of_the_longest_narrative_is_small(client: Client) -> None:
    page = client.get(stories_path(reader()))
    assert page.status_code == 200
    assert page.content.count(READS.strip().encode()) > 50
    assert re.findall(rb'data-number="([^"]+) "', page.content) == [b"1.1", b"1.2", b"1.3", b"1.4", b"1.5"]
    assert len(page.content) <= KILOBYTES * 1024


def test_opening_the_text_cancels_no_resend(open_window: OpenWindow) -> None:
    window = open_window()
    window.page.goto(stories_path(reader()))
    for digit in "12123":
        window.page.keyboard.press(digit)
    window.context.set_offline(True)
    window.button("Save and continue").click()
    window.page.get_by_label("Show the whole text").check()
    window.context.set_offline(False)
    expect(window.heading).to_have_text("Story 2")
    assert Vote.objects.count() == 1
