"""Annotators' pages beside the straight way: axe-core finds nothing in either colour scheme, and they fit.

``test_study_pages`` looks at the pages of researchers, and at those that everybody may open.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from django.template.loader import render_to_string
from playwright.sync_api import expect

from annotation.models import Study
from tests import builders
from tests.browser import journeys
from tests.browser.pages import OWN, REFUSALS, look_at
from tests.browser.windows import Window, stories_path

if TYPE_CHECKING:
    from playwright.sync_api import Route

pytestmark = pytest.mark.browser

STATES = REFUSALS | OWN
ENDS = (
    "nothing free",
    "all done",
    "suspended",
    "declined",
    "failed",
    "failed once",
    "link broken",
    "not there",
)
"""Others differ from one of these in their texts alone; ``test_languages`` opens all of them."""
OWN_PART = [name for name in OWN if name not in ("no answers", "nothing to change")]


def test_a_story_with_everything_open_and_something_missing(window: Window, study: Study) -> None:
    window.page.goto(stories_path(builders.qualified(study)[0]))
    window.choose(q1="possibly")
    window.button(journeys.SAVE).click()
    expect(window.radio("q2", "yes")).to_be_focused()
    look_at(window)


@pytest.mark.parametrize("names", [pytest.param(ENDS, id="ends"), pytest.param(OWN_PART, id="own")])
def test_pages_of_annotators_are_good(window: Window, names: list[str]) -> None:
    """Each state is brought about in a study of its own."""
    for number, name in enumerate(names):
        arrange, heading = STATES[name]
        study = builders.make_study(f"study-{number}", stories=4, votes_per_story=1)
        window.page.goto(arrange(study))
        expect(window.heading).to_have_text(heading)
        look_at(window)


def test_pages_for_what_went_wrong_are_good(window: Window, study: Study, settings: Any) -> None:
    pages = {name: render_to_string(name) for name in ("400.html", "403.html", "403_csrf.html", "500.html")}

    def serve(route: Route) -> None:
        route.fulfill(body=pages[route.request.url.rpartition("/")[2]], content_type="text/html")

    window.page.route("**/broken/*", serve)
    for name in pages:
        window.page.goto(f"/broken/{name}")
        expect(window.heading).to_be_visible()
        look_at(window)
    settings.VISIT_TOKEN_DAYS = -1
    window.page.goto(stories_path(builders.qualified(study)[0]))
    expect(window.heading).to_have_text("This page has been open for too long")
    look_at(window)
