"""Publishing and comparing releases: pages that show progress by themselves, and charts."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from annotation import locks
from publishing import tasks
from publishing.actions import releases
from publishing.models import Release
from publishing.progress import Reporter
from publishing.steps import Stage
from tests.browser.conftest import OpenWindow
from tests.browser.journeys import Digits
from tests.browser.pages import sign_in
from tests.browser.windows import DESKTOP, Window
from tests.builders import ALL_YES, answers
from tests.publishing.support import judged_study, published

pytestmark = pytest.mark.browser

LOADED = "(chart) => chart.decode().then(() => chart.naturalWidth)"


def test_publishing_and_comparing_show_their_progress_by_themselves(
    window: Window, researcher: tuple[str, str], releases_root: Path
) -> None:
    forms = {"both": (ALL_YES,) * 3, "two-yes": (ALL_YES, ALL_YES, answers(q3="no"))}
    first = published(judged_study("pilot", forms))
    page = window.page
    sign_in(window, researcher)

    page.goto("/studies/pilot/releases/publish/")
    page.get_by_text("Two of three").click()
    window.button("Preview the release").click()
    expect(page.get_by_text("The release is being built as it would be now.")).to_be_visible()
    tasks.preview_release(first.study_id, "two-of-three")
    expect(page.get_by_role("heading", name="Not validated by all")).to_be_visible()
    window.button("Publish release").click()
    expect(page.get_by_text("Waiting for a worker.")).to_be_visible()
    second = Release.objects.get(number=2)
    with locks.alone(locks.RELEASE, second.pk):
        releases._start(second.pk, now=timezone.now())
        Reporter(second)(Stage.QUESTIONS, 1, 2)
        expect(page.get_by_text("Step 2 of 5: Writing the questions")).to_be_visible()
        expect(page.get_by_role("progressbar")).to_have_attribute("value", "1")
    releases.build_release(release_id=second.pk, now=timezone.now())

    page.goto("/studies/pilot/releases/compare/")
    window.button("Compare").click()
    expect(page.get_by_text("A worker is comparing the two releases")).to_be_visible()
    tasks.compare_releases(first.pk, second.pk)
    expect(page.get_by_text("None; the filter differs.")).to_be_visible()

    page.goto("/releases/pilot/2/")
    charts = page.locator("img.chart")
    assert charts.count() > 0
    for chart in charts.all():
        chart.scroll_into_view_if_needed()
        assert chart.evaluate(LOADED) > 0
        assert chart.get_attribute("alt")
    assert not window.foreign_requests()
    assert window.complaints == []


@pytest.mark.torture
def test_answers_are_reviewed_and_a_release_is_published_by_keyboard_alone(
    open_window: OpenWindow, researcher: tuple[str, str], releases_root: Path
) -> None:
    """``test_setting_up`` goes by keyboard through links and forms every day, ``test_review`` by its keys."""
    study = judged_study("pilot", {"one": (ALL_YES,) * 3, "two": (ALL_YES,) * 3})
    window = open_window(viewport=DESKTOP)
    page, press = window.page, Digits().press
    sign_in(window, researcher)
    page.goto("/studies/pilot/")
    press(window, window.link("Quality"))
    press(window, window.link("Review"))
    press(window, window.button("Draw answers"))
    expect(window.heading).to_have_text("Answer 1 of 6")
    expect(page.get_by_label("Keyboard shortcuts")).to_be_visible()
    page.keyboard.press("1")
    expect(window.heading).to_have_text("Answer 2 of 6")
    press(window, window.link("Releases"))
    press(window, window.link("Publish a release"))
    press(window, window.button("Preview the release"))
    expect(page.get_by_text("The release is being built as it would be now.")).to_be_visible()
    tasks.preview_release(study.pk, "all-agree")
    page.reload()
    expect(window.button("Publish release")).to_be_visible()
    press(window, window.button("Publish release"))
    expect(window.heading).to_have_text("Releases")
    assert Release.objects.get().number == 1
    assert window.complaints == []
