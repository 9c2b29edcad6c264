"""Every page beside the straight way: axe-core finds nothing in either colour scheme, and it fits."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import expect

from annotation import actions
from annotation.models import Study
from tests import builders
from tests.browser import journeys
from tests.browser.checks import assert_good
from tests.browser.conftest import OpenWindow
from tests.browser.pages import OWN, REFUSALS, sign_in
from tests.browser.windows import SIZES, Window, stories_path
from tests.publishing.support import published

if TYPE_CHECKING:
    from playwright.sync_api import Route, ViewportSize

pytestmark = pytest.mark.browser


def test_a_story_with_everything_open_and_something_missing(window: Window, study: Study) -> None:
    window.page.goto(stories_path(builders.qualified(study)[0]))
    window.choose(q1="possibly")
    window.button(journeys.SAVE).click()
    expect(window.radio("q2", "yes")).to_be_focused()
    window.page.evaluate("() => document.querySelectorAll('details').forEach((part) => (part.open = true))")
    assert_good(window)


def test_pages_where_the_way_ends(window: Window) -> None:
    look_at_all(window, REFUSALS)


def test_the_pages_of_ones_own(window: Window) -> None:
    look_at_all(window, OWN)


def look_at_all(window: Window, pages: dict[str, tuple[Callable[[Study], str], str]]) -> None:
    """Bring people into every one of these states, each in a study of its own, and judge the page."""
    for number, (arrange, heading) in enumerate(pages.values()):
        study = builders.make_study(f"study-{number}", stories=4, votes_per_story=1)
        window.page.goto(arrange(study))
        expect(window.heading).to_have_text(heading)
        assert_good(window)


def test_a_visit_that_ran_out(window: Window, study: Study, settings: Any) -> None:
    settings.VISIT_TOKEN_DAYS = -1
    window.page.goto(stories_path(builders.qualified(study)[0]))
    expect(window.heading).to_have_text("This page has been open for too long")
    assert_good(window)


def test_pages_for_what_went_wrong(window: Window) -> None:
    pages = {name: render_to_string(name) for name in ("400.html", "403.html", "403_csrf.html", "500.html")}

    def serve(route: Route) -> None:
        route.fulfill(body=pages[route.request.url.rpartition("/")[2]], content_type="text/html")

    window.page.route("**/broken/*", serve)
    for name in pages:
        window.page.goto(f"/broken/{name}")
        expect(window.heading).to_be_visible()
        assert_good(window)


def test_the_public_pages(window: Window, study: Study, releases_root: Path) -> None:
    window.page.goto("/releases/")
    expect(window.page.get_by_text("No releases yet.")).to_be_visible()
    assert_good(window)
    builders.answer_everything(builders.qualified(study))
    release = published(study)
    for address, heading in {
        "/": "Which stories hold up?",
        "/releases/": "Releases",
        reverse("publishing:release", args=[study.slug, release.number]): f"{study.title} · release 1",
    }.items():
        window.page.goto(address)
        expect(window.heading).to_have_text(heading)
        assert_good(window)


def test_a_rehearsal_says_so_accessibly(window: Window, study: Study, releases_root: Path) -> None:
    study = actions.make_rehearsal(study=study, by=None, now=timezone.now())
    builders.answer_everything(builders.qualified(study))
    release = published(study)
    window.page.goto(reverse("publishing:release", args=[study.slug, release.number]))
    expect(window.page.get_by_role("heading", name="A test run, not data")).to_be_visible()
    assert_good(window)


@pytest.mark.parametrize("size", SIZES)
def test_the_pages_of_researchers(
    open_window: OpenWindow, researcher: tuple[str, str], sample: Study, size: ViewportSize
) -> None:
    builders.make_study("draft", stories=0, opened=False)
    builders.answer_everything(builders.qualified(builders.make_study("busy", stories=3, votes_per_story=1)))
    window = open_window(viewport=size)
    sign_in(window, researcher)
    for slug in (None, "sample", "draft", "busy"):
        window.page.goto(reverse("dashboard:overview", args=[slug]) if slug else reverse("dashboard:studies"))
        expect(window.heading).to_be_visible()
        assert_good(window)
