"""Annotators' pages beside the straight way: axe-core finds nothing in either colour scheme, and they fit.

``test_study_pages`` looks at the pages of researchers, and at those that everybody may open.
"""

from __future__ import annotations

from typing import Any

import pytest
from django.template.loader import render_to_string
from django.test import Client
from playwright.sync_api import expect

from annotation.models import Study
from tests import builders
from tests.browser import journeys
from tests.browser.pages import OWN, REFUSALS, look_at, show
from tests.browser.windows import Window, stories_path

pytestmark = pytest.mark.browser

STATES = REFUSALS | OWN
ENDS = ("nothing free", "suspended", "declined", "failed", "link broken", "not there")
"""Others differ from one of these in their texts alone; ``test_languages`` opens all of them."""
OWN_PART = [name for name in OWN if name not in ("no answers", "nothing to change", "practice owed")]


def test_a_story_with_everything_open_and_something_missing(window: Window, study: Study) -> None:
    window.page.goto(stories_path(builders.qualified(study)[0]))
    window.choose(q1="possibly")
    window.button(journeys.SAVE).click()
    expect(window.radio("q2", "yes")).to_be_focused()
    look_at(window)


@pytest.mark.parametrize("names", [pytest.param(ENDS, id="ends"), pytest.param(OWN_PART, id="own")])
def test_pages_of_annotators_are_good(window: Window, names: list[str]) -> None:
    """Each state is brought about in a study of its own."""
    window.page.goto("/")
    for number, name in enumerate(names):
        arrange, heading = STATES[name]
        study = builders.make_study(f"study-{number}", stories=4, votes_per_story=1)
        show(window, Client().get(arrange(study), follow=True).content)
        expect(window.heading).to_have_text(heading)
        look_at(window, name=name)


def test_pages_for_what_went_wrong_are_good(window: Window, study: Study, settings: Any) -> None:
    settings.VISIT_TOKEN_DAYS = -1
    too_late = Client().get(stories_path(builders.qualified(study)[0])).content.decode()
    errors = [render_to_string(name) for name in ("400.html", "403.html", "403_csrf.html", "500.html")]
    window.page.goto("/")
    for page in (too_late, *errors):
        show(window, page)
        expect(window.heading).to_be_visible()
        look_at(window)
    assert "This page has been open for too long" in too_late
