"""The questions of a release as people answer them, and the researchers' pages about them, in a browser."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from annotation.models import Vote
from tests.browser.checks import assert_good
from tests.browser.conftest import OpenWindow
from tests.browser.pages import sign_in
from tests.browser.windows import SIZES, stories_path
from tests.dashboard.baselines import answer, drawn, invited, opened, released_study

if TYPE_CHECKING:
    from playwright.sync_api import ViewportSize

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("size", SIZES)
def test_the_baseline_from_drawing_to_accuracy(
    open_window: OpenWindow, researcher: tuple[str, str], releases_root: Path, size: ViewportSize
) -> None:
    release = released_study()
    desk = open_window(viewport=size)
    sign_in(desk, researcher)
    desk.page.goto(reverse("dashboard:draw_human_baseline", args=["pilot", release.number]))
    assert_good(desk)
    desk.page.get_by_label("Short name").fill("not a slug")
    desk.button("Draw the questions").click()
    expect(desk.page.get_by_label("Short name")).to_have_attribute("aria-invalid", "true")
    assert_good(desk)

    study = opened(drawn(release)[0])
    first, *others = invited(study)
    window = open_window(viewport=size)
    window.page.goto(stories_path(first))
    expect(window.heading).to_have_text("Question 1")
    assert_good(window)
    window.page.keyboard.press("2")
    expect(window.radio("answer", "b")).to_be_checked()
    window.page.keyboard.press("Enter")
    expect(window.heading).to_have_text("Question 2")
    vote = Vote.objects.get(assignment__enrollment=first)
    assert [given.option for given in vote.answers.all()] == ["b"]
    window.page.goto(window.page.url.replace("/stories/", "/instructions/"))
    window.page.evaluate("() => document.querySelectorAll('details').forEach((part) => (part.open = true))")
    assert_good(window)

    for place, person in enumerate((first, *others)):
        answer(person, right=place < 2)
    desk.page.goto(reverse("dashboard:human_baseline", args=[study.slug]))
    row = desk.page.get_by_role("row").filter(has_text="Behavior").first
    expect(row).to_contain_text("12")
    assert_good(desk)
