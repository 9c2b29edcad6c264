"""Publishing with progress, comparing two releases, and withdrawing one, in a real browser."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from annotation import locks
from publishing import tasks
from publishing.actions import releases
from publishing.models import Release
from publishing.progress import Reporter
from publishing.steps import Stage
from tests.browser.checks import assert_good
from tests.browser.conftest import OpenWindow
from tests.browser.journeys import Digits
from tests.browser.pages import sign_in
from tests.builders import ALL_YES, answers
from tests.publishing.support import judged_study, published

if TYPE_CHECKING:
    from playwright.sync_api import ViewportSize

from tests.browser.windows import DESKTOP, SIZES

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("size", SIZES)
def test_publishing_with_progress_compare_withdraw(
    open_window: OpenWindow, researcher: tuple[str, str], releases_root: Path, size: ViewportSize
) -> None:
    forms = {"both": (ALL_YES,) * 3, "two-yes": (ALL_YES, ALL_YES, answers(q3="no"))}
    first = published(judged_study("pilot", forms))
    window = open_window(viewport=size)
    page = window.page
    sign_in(window, researcher)

    page.goto("/studies/pilot/releases/")
    window.link("Publish a release").click()
    page.get_by_text("Two of three").click()
    window.button("Preview the release").click()
    expect(page.get_by_text("The release is being built as it would be now.")).to_be_visible()
    tasks.preview_release(first.study_id, "two-of-three")
    expect(page.get_by_role("heading", name="Not validated by all")).to_be_visible()
    expect(page.locator(".dataset-card img.chart").first).to_have_js_property("complete", True)
    assert_good(window)
    window.button("Publish release").click()
    expect(window.heading).to_have_text("Releases")
    expect(page.get_by_text("Waiting for a worker.")).to_be_visible()
    second = Release.objects.get(number=2)
    with locks.alone(locks.RELEASE, second.pk):
        releases._start(second.pk, now=timezone.now())
        Reporter(second)(Stage.QUESTIONS, 1, 2)
        expect(page.get_by_text("Step 2 of 5: Writing the questions")).to_be_visible()
        expect(page.get_by_role("progressbar")).to_have_attribute("value", "1")
        assert_good(window)
    releases.build_release(release_id=second.pk, now=timezone.now())
    page.reload()  # it asks by itself, as it did about the progress
    expect(window.link("Download release 2 (tar)")).to_be_visible()
    assert_good(window)

    window.link("Compare two releases").click()
    window.button("Compare").click()
    expect(page.get_by_text("A worker is comparing the two releases")).to_be_visible()
    tasks.compare_releases(first.pk, second.pk)
    expect(page.get_by_text("None; the filter differs.")).to_be_visible()
    assert_good(window)

    page.goto("/studies/pilot/releases/")
    window.follow(window.link("Withdraw release 1"))
    assert_good(window)
    page.get_by_label("Reason").fill("One story was judged twice.")
    window.button("Withdraw permanently").click()
    expect(page.get_by_text("Release 1 is withdrawn.")).to_be_visible()
    assert_good(window)
    published(first.study)  # by the rule of the first one, as the second is not
    window.link("Release 1").click()
    expect(page.get_by_role("heading", name="This release was withdrawn")).to_be_visible()
    window.link("release 3").click()
    expect(page.get_by_role("heading", name="release 3")).to_be_visible()
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
