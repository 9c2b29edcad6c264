"""An item rated from 1 to 5 in a browser: on a phone and on a desktop, by keys alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from annotation.models import Enrollment, Study, Vote
from dashboard.actions import load_sample_study
from tests import builders
from tests.browser.conftest import OpenWindow
from tests.browser.pages import look_at
from tests.browser.windows import PHONE, SIZES, stories_path
from tests.worlds import built_once

if TYPE_CHECKING:
    from playwright.sync_api import ViewportSize

pytestmark = pytest.mark.browser


@built_once
def rating_study() -> tuple[Study, Enrollment]:
    study = load_sample_study(now=timezone.now(), name="ratings")
    (person,) = builders.qualified(study, 1)
    return study, person


@pytest.mark.parametrize("size", SIZES)
def test_an_item_is_rated_by_the_digits_of_the_scale(open_window: OpenWindow, size: ViewportSize) -> None:
    _, person = rating_study()
    window = open_window(viewport=size)
    window.page.goto(stories_path(person))
    look_at(window)
    ends = window.page.locator(".ends").first.locator("span")
    expect(ends).to_have_text(["Strongly disagree", "Strongly agree"])
    scale = window.page.locator(".options--scale").first
    boxes = [box.bounding_box() for box in scale.locator(".option").all()]
    assert len(boxes) == 5
    assert len({box["y"] for box in boxes if box}) == 1, "the five boxes stand in one row"
    for digit in "524":
        window.page.keyboard.press(digit)
    for question, rating in (("understandable", "5"), ("coherent", "2"), ("unambiguous", "4")):
        expect(window.radio(question, rating)).to_be_checked()
    if size == PHONE:  # the bar shows what was chosen
        expect(window.page.locator(".step")).to_have_text(["1 5", "2 2", "3 4"])
    window.page.keyboard.press("Enter")
    expect(window.heading).to_have_text("Item 2")
    vote = Vote.objects.get(assignment__enrollment=person)
    assert {given.question: given.option for given in vote.answers.all()} == {
        "understandable": "5",
        "coherent": "2",
        "unambiguous": "4",
    }
