"""Rows that people add to a table, by keys and without scripts; two lists made one."""

from __future__ import annotations

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from annotation import actions
from annotation.models import Enrollment, Study, Vote
from tests import builders
from tests.browser.conftest import OpenWindow
from tests.browser.journeys import SAVE
from tests.browser.pages import look_at, sign_in
from tests.browser.windows import PHONE, Window, stories_path
from tests.worlds import built_once

pytestmark = pytest.mark.browser

STORIES = [
    {"story_id": f"s-{number}", "story": "Mira leans her kite against the shed. Tom carries it to the attic."}
    for number in range(2)
]


@built_once
def lister() -> Enrollment:
    """Somebody who has two stories to list beliefs of."""
    study = builders.make_study("lists", protocol="belief-extraction", stories=STORIES, votes_per_story=2)
    return builders.qualified(study, 1)[0]


@built_once
def two_lists() -> Study:
    """A study in which two people listed the same belief about a story, and one of each their own."""
    study = builders.make_study("two", protocol="belief-extraction", stories=STORIES[:1], votes_per_story=2)
    for number, person in enumerate(builders.qualified(study, 2)):
        held = builders.claim(person)
        form = {"actor.01": "Tom", "belief.01": "It is up there.", "actor.02": "Mira"}
        form["belief.02"] = f"It is by the shed, says person {number}."
        actions.record_vote(assignment_id=held.pk, enrollment=person, submitted=form, now=timezone.now())
    return study


def write(window: Window, row: int, actor: str, belief: str) -> None:
    window.page.locator(f"[name='actor.{row:02}']").fill(actor)
    window.page.locator(f"[name='belief.{row:02}']").fill(belief)


def test_a_row_appears_when_the_last_one_is_begun(window: Window) -> None:
    person = lister()
    page = window.page
    page.goto(stories_path(person))
    rows = page.locator(".lists--open").filter(visible=True)
    expect(rows).to_have_count(1)
    page.locator("[name='actor.01']").focus()
    page.keyboard.type("Tom")
    expect(rows).to_have_count(2)
    page.keyboard.press("Tab")
    page.keyboard.type("It is up there? 12")  # neither a key for the instructions nor for an answer
    page.keyboard.press("Tab")
    expect(page.locator("[name='actor.02']")).to_be_focused()
    page.keyboard.type("Mira")
    window.button(SAVE).click()
    alert = page.get_by_role("alert").filter(visible=True)
    expect(alert.get_by_role("link")).to_have_count(1)
    expect(page.locator("[name='belief.02']")).to_be_focused()
    look_at(window)
    page.locator("[name='belief.02']").focus()
    page.keyboard.type("It is by the shed.")
    window.button(SAVE).click()
    expect(window.heading).to_have_text("Story 2")
    words = Vote.objects.get(assignment__enrollment=person).answers.order_by("row", "question")
    told = ["Tom", "It is up there? 12", "Mira", "It is by the shed."]
    assert list(words.values_list("words", flat=True)) == told


def test_written_rows_survive_a_reload_a_lost_network_and_a_change(window: Window) -> None:
    person = lister()
    page = window.page
    page.goto(stories_path(person))
    write(window, 1, "Tom", "It is up there.")
    write(window, 2, "Mira", "It is by the shed.")
    page.reload()
    expect(page.locator("[name='belief.02']")).to_have_value("It is by the shed.")
    expect(page.locator(".lists--open").filter(visible=True)).to_have_count(3)
    window.context.set_offline(True)
    window.button(SAVE).click()
    expect(page.get_by_role("alert").filter(visible=True)).to_contain_text("Not saved")
    window.context.set_offline(False)
    expect(window.heading).to_have_text("Story 2")
    assert Vote.objects.get().answers.count() == 4
    page.get_by_role("link", name="Change last answer").click()
    write(window, 2, "", "")
    page.reload()
    expect(page.locator("[name='belief.02']")).to_have_value("")
    expect(page.locator("[name='belief.01']")).to_have_value("It is up there.")
    window.button("Save the change").click()
    expect(window.heading).to_have_text("Story 2")
    assert Vote.objects.latest("pk").answers.count() == 2


def test_rows_are_saved_without_scripts(open_window: OpenWindow) -> None:
    window = open_window(viewport=PHONE, java_script_enabled=False)
    window.page.goto(stories_path(lister()))
    write(window, 1, "Tom", "It is up there.")
    window.button(SAVE).click()
    expect(window.heading).to_have_text("Story 2")
    assert Vote.objects.get().answers.count() == 2


def test_an_expert_makes_one_list_of_two(window: Window, researcher: tuple[str, str]) -> None:
    study = two_lists()
    page = window.page
    sign_in(window, researcher)
    page.goto(f"/studies/{study.slug}/quality/decisions/of/s-0/")
    expect(page.get_by_text("Listed by 2 of 2")).to_have_count(1)
    expect(page.get_by_text("Listed by 1 of 2")).to_have_count(2)
    page.get_by_label("Leave out").nth(2).check()
    page.get_by_label("How the lists were reconciled").fill("Two experts, in one call.")
    page.get_by_role("button", name="Save the list").click()
    expect(page.get_by_text("write a remark")).to_be_visible()
    expect(page.get_by_label("Leave out").nth(2)).to_be_checked()
    page.get_by_label("Remark").nth(2).fill("The same as the row above.")
    page.get_by_role("button", name="Save the list").click()
    page.goto(f"/studies/{study.slug}/stories/s-0/")
    expect(page.get_by_text("The same as the row above.")).to_be_visible()
