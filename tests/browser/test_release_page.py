"""The public page of a release with its card and charts, and the page for the data statement."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import expect

from annotation.models import Study
from publishing.actions.statements import describe_data
from publishing.models import Release
from tests import builders
from tests.browser.checks import assert_good
from tests.browser.conftest import OpenWindow
from tests.browser.pages import sign_in
from tests.publishing.support import judged_study, published, random_forms
from tests.publishing.test_card import SAID

if TYPE_CHECKING:
    from playwright.sync_api import ViewportSize

from tests.browser.windows import SIZES

pytestmark = pytest.mark.browser

LOADED = "(chart) => chart.decode().then(() => chart.naturalWidth)"


@pytest.fixture
def release(releases_root: Path) -> Release:
    """A second release, so that its card has every section, with a statement."""
    study = judged_study("pilot", random_forms(3, 12, votes=2), votes_per_story=2, pay_rate="15.00")
    describe_data(study=study, statement=SAID, by=None, now=timezone.now())
    published(study)
    return published(study)


@pytest.mark.parametrize("size", SIZES)
def test_the_page_of_a_release(open_window: OpenWindow, release: Release, size: ViewportSize) -> None:
    window = open_window(viewport=size)
    page = window.page
    page.goto(reverse("publishing:release", args=[release.study.slug, release.number]))
    charts = page.locator("img.chart")
    assert charts.count() == 3
    for chart in charts.all():
        chart.scroll_into_view_if_needed()
        assert chart.evaluate(LOADED) > 0
        assert chart.get_attribute("alt")
    page.get_by_text("Contents of the card").click()
    window.link("What was kept").click()
    expect(page.get_by_role("heading", name="What was kept")).to_be_in_viewport()
    expect(page.get_by_role("table").filter(has_text="Krippendorff")).to_be_attached()
    assert_good(window)
    assert window.complaints == []
    assert window.foreign_requests() == []


@pytest.mark.parametrize("size", SIZES)
def test_the_page_for_the_data_statement(
    open_window: OpenWindow, researcher: tuple[str, str], size: ViewportSize
) -> None:
    study: Study = builders.make_study("said", stories=1)
    window = open_window(viewport=size)
    sign_in(window, researcher)
    window.page.goto(reverse("dashboard:data_statement", args=[study.slug]))
    assert_good(window)
    window.page.get_by_label("DOI").fill("x")
    window.page.get_by_label("Known limits").fill("Few votes.")
    window.button("Save").click()
    doi = window.page.get_by_label("DOI")
    expect(doi).to_have_accessible_description(re.compile("This is not a DOI"))
    expect(window.page.get_by_role("alert")).to_contain_text("Not saved yet")
    assert_good(window)
    doi.fill("")
    window.button("Save").click()
    expect(window.page.get_by_text("Version 1")).to_be_visible()
    expect(window.page.get_by_label("Known limits")).to_have_value("Few votes.")
