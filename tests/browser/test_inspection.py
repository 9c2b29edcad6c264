"""A narrative is inspected on a phone and on a desk: a “no” asks at once what should change."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from annotation.models import Vote
from annotation.protocols import get_protocol
from tests import builders
from tests.browser.conftest import OpenWindow
from tests.browser.windows import SIZES, stories_path

if TYPE_CHECKING:
    from playwright.sync_api import ViewportSize

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("size", SIZES)
def test_a_no_asks_what_should_change(open_window: OpenWindow, size: ViewportSize) -> None:
    narratives = [json.loads(line) for line in get_protocol("inspection").example.splitlines()]
    study = builders.make_study("inspected", protocol="inspection", stories=narratives)
    (person,) = builders.qualified(study, 1)
    window = open_window(viewport=size)
    page = window.page
    page.goto(stories_path(person))
    expect(page.locator("#part-questions")).to_contain_text("1. ")
    words = page.locator("[name='apart-change']")
    expect(words).to_be_hidden()
    for question, option in {"open": "yes", "sense": "yes", "apart": "no"}.items():
        page.locator(f"label[for='{question}-{option}']").click()
    expect(words).to_be_visible()
    expect(page.locator("[name='open-change']")).to_be_hidden()
    words.fill("Do not ask about the “entrance”.")
    window.button("Save and continue").click()
    expect(window.heading).to_have_text("Story 2")
    given = {answer.question: answer.choice.option for answer in Vote.objects.get().answers.all()}
    assert given == {
        "open": "yes", "sense": "yes", "apart": "no", "apart-change": "Do not ask about the “entrance”."
    }  # fmt: skip
