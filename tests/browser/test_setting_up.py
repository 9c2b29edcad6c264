"""A study is set up: its preview and the report of an import move by themselves; keys alone can do it."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import expect

from annotation import actions
from annotation.models import StoryImport, Study
from tests import builders
from tests.browser.conftest import OpenWindow
from tests.browser.journeys import Digits, tab_to
from tests.browser.pages import sign_in
from tests.browser.windows import DESKTOP, Window

pytestmark = pytest.mark.browser


def work() -> None:
    """What a worker does with the newest file."""
    job = StoryImport.objects.latest("pk")
    actions.run_import(story_import_id=job.pk, now=timezone.now())


@pytest.fixture
def file(tmp_path: Path) -> Path:
    twin = builders.story_row(1) | {"story_id": "twin_sev1", "core_id": "twin"}
    return builders.write_rows(tmp_path / "tins.jsonl", [builders.story_row(1), builders.story_row(2), twin])


def test_the_preview_follows_what_is_typed_and_the_report_what_a_worker_does(
    window: Window, researcher: tuple[str, str], file: Path
) -> None:
    page = window.page
    sign_in(window, researcher)
    page.goto(reverse("dashboard:new_study"))
    page.get_by_label("Title").press_sequentially("Which tins hold up?")
    page.get_by_label("Short name").fill("tins")
    page.get_by_label("Contact").fill("lab@university.example")
    preview = page.get_by_role("region", name="Preview for participants")
    expect(preview).to_contain_text("in the study “Which tins hold up?”")
    expect(preview).to_contain_text("lab@university.example")
    expect(preview.locator("input:enabled")).to_have_count(0)
    window.button("Create the study").click()
    expect(window.heading).to_have_text("Settings")

    page.goto(reverse("dashboard:import_stories", args=["tins"]))
    page.get_by_label("File", exact=True).set_input_files(file)
    window.button("Check the file").click()
    expect(page.get_by_text("A worker is checking the file")).to_be_visible()
    work()
    expect(window.button("Import these")).to_be_visible()
    expect(page.get_by_text("twin_sev1")).to_be_visible()
    assert window.complaints == []
    assert window.foreign_requests() == []


@pytest.mark.torture  # keys alone move test_menu, test_figures and test_review, with every run
def test_from_nothing_to_open_by_keyboard(
    open_window: OpenWindow, researcher: tuple[str, str], file: Path
) -> None:
    window = open_window(viewport=DESKTOP)
    page, press = window.page, Digits().press
    sign_in(window, researcher)
    page.goto(reverse("dashboard:studies"))
    press(window, window.link("New study"))
    for label, text in (
        ("Title", "Which tins hold up?"),
        ("Short name", "tins"),
        ("Contact", "lab@university.example"),
    ):
        tab_to(window, page.get_by_label(label))
        page.keyboard.type(text)
    press(window, window.button("Create the study"))
    expect(window.heading).to_have_text("Settings")
    press(window, page.locator("#main").get_by_role("link", name="Import stories").first)
    expect(window.heading).to_have_text("Import")
    chosen = page.get_by_label("File", exact=True)
    with page.expect_file_chooser() as chooser:  # the page hears of it later than of a key pressed at once
        tab_to(window, chosen)
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
    press(window, window.link("Overview"))
    press(window, window.link("Open the study"))
    expect(window.heading).to_have_text("Open the study?")
    for accepted in page.get_by_role("checkbox").all():
        tab_to(window, accepted)
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
    page.goto(reverse("dashboard:new_study"))
    page.get_by_label("Title").fill("Which tins hold up?")
    window.follow(window.button("Preview"))
    expect(page.get_by_text("in the study “Which tins hold up?”")).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(0)
