"""A study from nothing to open, in a browser: with the mouse, and with the keyboard alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Locator, expect

from annotation import actions
from annotation.errors import ImportRefused
from annotation.models import StoryImport, Study
from tests import builders
from tests.browser.checks import assert_good
from tests.browser.conftest import OpenWindow
from tests.browser.pages import sign_in
from tests.browser.windows import DESKTOP, SIZES, Window

if TYPE_CHECKING:
    from playwright.sync_api import ViewportSize

pytestmark = pytest.mark.browser


def work() -> None:
    """What a worker does with the newest file."""
    job = StoryImport.objects.latest("pk")
    actions.run_import(story_import_id=job.pk, now=timezone.now())


@pytest.fixture
def file(tmp_path: Path) -> Path:
    twin = builders.story_row(1) | {"story_id": "twin_sev1", "core_id": "twin"}
    return builders.write_rows(tmp_path / "tins.jsonl", [builders.story_row(1), builders.story_row(2), twin])


@pytest.mark.parametrize("size", SIZES)
def test_from_nothing_to_open_by_mouse(
    open_window: OpenWindow, researcher: tuple[str, str], file: Path, size: ViewportSize
) -> None:
    window = open_window(viewport=size)
    page = window.page
    sign_in(window, researcher)
    page.goto(reverse("dashboard:studies"))
    window.link("New study").click()
    expect(window.heading).to_have_text("New study")
    assert_good(window)

    page.get_by_label("Short name").fill("tins")
    window.button("Create the study").click()
    expect(page.get_by_role("alert")).to_contain_text("The study was not created")
    expect(page.get_by_label("Title")).to_have_attribute("aria-invalid", "true")
    assert_good(window)

    page.get_by_label("Title").press_sequentially("Which tins hold up?")
    page.get_by_label("Contact").fill("lab@university.example")
    preview = page.get_by_role("region", name="Preview for participants")
    expect(preview).to_contain_text("in the study “Which tins hold up?”")
    expect(preview).to_contain_text("lab@university.example")
    expect(preview.locator("input:enabled")).to_have_count(0)
    window.button("Create the study").click()

    expect(window.heading).to_have_text("Settings")
    expect(page.get_by_text("Missing:")).to_have_count(1)
    expect(window.button("Open the study")).to_have_count(0)
    assert_good(window)

    page.goto(reverse("dashboard:overview", args=["tins"]))
    assert_good(window)
    window.follow(page.locator("#main").get_by_role("link", name="Import stories").first)
    assert_good(window)
    page.get_by_label("File", exact=True).set_input_files(file)
    window.button("Check the file").click()
    expect(page.get_by_text("A worker is checking the file")).to_be_visible()
    work()
    expect(window.button("Import these")).to_be_visible()
    expect(page.get_by_text("twin_sev1")).to_be_visible()
    assert_good(window)
    window.button("Import these").click()
    expect(page.get_by_text("A worker is importing the file.")).to_be_visible()
    work()
    page.reload()  # it asks by itself, as it did when the file was being checked
    expect(page.get_by_text("The stories are imported.")).to_be_visible()

    window.follow(window.link("Back to the settings"))
    window.follow(window.link("Open the study"))
    assert_good(window)
    for accepted in page.locator("label[for^=accepted-]").all():
        accepted.click()
    window.button("Open the study").click()
    page.wait_for_url(f"**{reverse('dashboard:overview', args=['tins'])}")
    study = Study.objects.get(slug="tins")
    assert (study.state, study.stories.filter(role="main").count()) == ("open", 3)
    window.page.goto(reverse("dashboard:settings", args=["tins"]))
    expect(page.get_by_label("Votes per story", exact=True)).to_be_disabled()
    assert len(window.complaints) == 1, window.complaints
    assert "422" in window.complaints[0], "the browser's own note on the form that was sent back"
    assert window.foreign_requests() == []


@pytest.mark.torture  # keys alone move test_menu, test_figures and test_review, with every run
def test_from_nothing_to_open_by_keyboard(
    open_window: OpenWindow, researcher: tuple[str, str], file: Path
) -> None:
    window = open_window(viewport=DESKTOP)
    page = window.page
    sign_in(window, researcher)
    page.goto(reverse("dashboard:studies"))
    press(window, window.link("New study"))
    for label, text in (
        ("Title", "Which tins hold up?"),
        ("Short name", "tins"),
        ("Contact", "lab@university.example"),
    ):
        reach(window, page.get_by_label(label))
        page.keyboard.type(text)
    press(window, window.button("Create the study"))
    expect(window.heading).to_have_text("Settings")
    press(window, page.locator("#main").get_by_role("link", name="Import stories").first)
    expect(window.heading).to_have_text("Import")
    chosen = page.get_by_label("File", exact=True)
    with page.expect_file_chooser() as chooser:  # the page hears of it later than of a key pressed at once
        reach(window, chosen)
        page.keyboard.press("Space")
    chooser.value.set_files(file)
    press(window, window.button("Check the file"))
    expect(page.get_by_text("A worker is checking the file")).to_be_visible()
    work()
    page.reload()
    expect(window.button("Import these")).to_be_visible()
    press(window, window.button("Import these"))
    expect(page.get_by_text("A worker is importing the file.")).to_be_visible()
    work()
    page.reload()
    expect(page.get_by_text("The stories are imported.")).to_be_visible()
    press(window, window.link("Back to the settings"))
    press(window, window.link("Open the study"))
    expect(window.heading).to_have_text("Open the study?")
    for accepted in page.get_by_role("checkbox").all():
        reach(window, accepted)
        page.keyboard.press("Space")
    press(window, window.button("Open the study"))
    page.wait_for_url(f"**{reverse('dashboard:overview', args=['tins'])}")
    assert Study.objects.get(slug="tins").state == Study.State.OPEN
    assert window.complaints == []


def test_without_javascript_the_preview_has_a_page_of_its_own(
    open_window: OpenWindow, researcher: tuple[str, str]
) -> None:
    window = open_window(viewport=DESKTOP, java_script_enabled=False)
    page = window.page
    sign_in(window, researcher)
    page.goto(reverse("dashboard:studies"))
    window.follow(window.link("New study"))
    page.get_by_label("Title").fill("Which tins hold up?")
    window.follow(window.button("Preview"))
    expect(page.get_by_text("in the study “Which tins hold up?”")).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(0)
    page.go_back()
    page.get_by_label("Title").fill("Which tins hold up?")
    page.get_by_label("Short name").fill("tins")
    page.get_by_label("Contact").fill("lab@university.example")
    window.follow(window.button("Create the study"))
    expect(window.heading).to_have_text("Settings")


@pytest.mark.parametrize("size", SIZES)
def test_the_other_pages_of_the_set_up(
    open_window: OpenWindow, researcher: tuple[str, str], sample: Study, tmp_path: Path, size: ViewportSize
) -> None:
    wrong = [builders.story_row(number, scenario_name="nowhere") for number in range(60)]
    path = builders.write_rows(tmp_path / "wrong.jsonl", wrong)
    window = open_window(viewport=size)
    page = window.page
    sign_in(window, researcher)
    for name, args in (("preview", ["sample"]), ("clone", ["sample"]), ("study_from_file", [])):
        page.goto(reverse(f"dashboard:{name}", args=args))
        expect(window.heading).to_be_visible()
        assert_good(window)
    page.goto(reverse("dashboard:import_stories", args=["sample"]))
    page.get_by_label("File", exact=True).set_input_files(path)
    window.button("Check the file").click()
    expect(page.get_by_text("A worker is checking the file")).to_be_visible()
    with pytest.raises(ImportRefused):
        work()
    page.reload()
    expect(page.get_by_text("The file has 60 problems.")).to_be_visible()
    assert_good(window)
    window.link("Further").click()
    expect(page.get_by_text("Problems 51 to 60 of 60")).to_be_visible()
    with page.expect_download() as download:
        window.link("All problems as CSV").click()
    assert len(download.value.path().read_text(encoding="utf-8").splitlines()) == 61


def reach(window: Window, target: Locator) -> None:
    """Go on with Tab until the target has the focus."""
    expect(target).to_be_visible()
    for _ in range(80):
        if target.evaluate("(element) => element === document.activeElement"):
            return
        window.page.keyboard.press("Tab")
    raise AssertionError(f"{target} cannot be reached by Tab")


def press(window: Window, target: Locator) -> None:
    """Reach something to press, and press it with Enter."""
    reach(window, target)
    window.page.keyboard.press("Enter")
