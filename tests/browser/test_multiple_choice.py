"""A multiple-choice question is answered by keys."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from annotation.models import Vote
from tests import builders
from tests.annotation.protocols.test_multiple_choice import ROW
from tests.browser.pages import look_at
from tests.browser.windows import Window, stories_path

pytestmark = pytest.mark.browser


def test_a_question_is_answered_by_keys(window: Window) -> None:
    rows = [ROW, ROW | {"id": "gen1170_sev3_aware"}]
    study = builders.make_study("questions", protocol="multiple-choice", stories=rows)
    window.page.goto(stories_path(builders.qualified(study)[0]))
    expect(window.heading).to_have_text("Question 1")
    look_at(window)
    window.page.keyboard.press("2")
    expect(window.radio("answer", "b")).to_be_checked()
    window.page.keyboard.press("Enter")
    expect(window.heading).to_have_text("Question 2")
    assert Vote.objects.get().answers.get().option == "b"
