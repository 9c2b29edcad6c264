"""What happens between pressing “Save and continue” and the next story, when all goes well and when not."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from annotation.models import Assignment, Enrollment, Vote
from bench import screen
from tests.browser.conftest import OpenWindow
from tests.browser.journeys import SAVE, Arrows, stored_forms
from tests.browser.submitting import FORM, at_first_story, on_story
from tests.browser.windows import DESKTOP, SIZES, Window
from tests.builders import ALL_YES, answers

if TYPE_CHECKING:
    from playwright.sync_api import Route, ViewportSize


pytestmark = pytest.mark.browser

COUNT_SHIFTS = """() => {
  window.shifts = [];
  window.observer = new PerformanceObserver((list) => window.shifts.push(...list.getEntries()));
  window.observer.observe({ type: "layout-shift" });
}"""
SUM_OF_SHIFTS = """() => new Promise((done) =>
  requestAnimationFrame(() => requestAnimationFrame(() => {
    const shifts = [...window.shifts, ...window.observer.takeRecords()];
    done(shifts.reduce((sum, shift) => sum + shift.value, 0));
  })))"""


with_and_without_scripts = pytest.mark.parametrize(
    "scripts",
    [
        pytest.param(True, id="with scripts"),
        pytest.param(False, id="without scripts", marks=pytest.mark.torture),
    ],
)
"""Forms without scripts: requests prove every day how the server answers them."""


@pytest.fixture
def at_work(window: Window, person: Enrollment) -> Window:
    """The window with the first story of ``person`` on it."""
    return at_first_story(window, person)


# All goes well --------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", SIZES)
def test_the_next_story_comes_with_the_receipt_in_one_request_and_nothing_jumps(
    open_window: OpenWindow, person: Enrollment, size: ViewportSize
) -> None:
    window = at_first_story(open_window(viewport=size), person)
    page, address = window.page, window.page.url
    page.evaluate("() => { window.stillHere = true; }")
    window.choose(**FORM)
    page.evaluate(COUNT_SHIFTS)
    window.requests.clear()
    window.button(SAVE).click()
    on_story(window, 2)
    expect(window.heading).to_be_focused()
    expect(page.locator("#work .receipt")).to_be_visible()
    expect(page.locator("#work .receipt")).to_have_text(re.compile(r"^Saved at \d\d:\d\d:\d\d"))
    expect(page.locator("#status[role=status]")).to_have_text(re.compile(r"^Saved at \d\d:\d\d:\d\d"))
    assert page.evaluate(SUM_OF_SHIFTS) < 0.05
    assert [(request.method, request.url) for request in window.requests] == [("POST", address)]
    assert page.url == address
    assert page.evaluate("() => window.stillHere && window.scrollY === 0")
    assert window.complaints == []

    swapped = page.locator("form#answers").aria_snapshot()
    page.reload()
    on_story(window, 2)
    assert page.locator("form#answers").aria_snapshot() == swapped, "a screen reader hears the same"


def test_the_benchmark_of_the_screen_sees_every_submission(
    open_window: OpenWindow, person: Enrollment
) -> None:
    """``bench.screen`` is run by hand; that its watch and its keys fit the page is checked here."""
    window = at_first_story(open_window(viewport=DESKTOP), person)
    window.page.evaluate(screen.WATCH)
    for number in (1, 2):
        screen.submit(window.page, number)
    on_story(window, 3)
    seen = window.page.evaluate("seen")
    assert len(seen["times"]) == 2
    assert all(0 < request < whole for whole, request in seen["times"])
    assert stored_forms(person) == [ALL_YES, ALL_YES]


def test_digits_answer_and_move_on_until_they_are_switched_off_for_good(at_work: Window) -> None:
    page, chosen = at_work.page, at_work.page.locator("input[type=radio]:checked")
    page.keyboard.press("4")
    expect(chosen).to_have_count(0)
    for key, option in (("1", "yes"), ("2", "possibly"), ("3", "no")):
        page.keyboard.press(key)
        expect(at_work.radio("q1", option)).to_be_checked()
        expect(at_work.radio("q2", "yes")).to_be_focused()
        expect(chosen).to_have_count(1)
        page.keyboard.press("Backspace")
    setting = page.get_by_label("Keyboard shortcuts")
    setting.uncheck()
    page.reload()
    expect(setting).not_to_be_checked()
    at_work.radio("q1", "yes").focus()
    page.keyboard.press("2")
    expect(at_work.radio("q1", "no")).to_be_checked()


def test_enter_goes_to_what_is_missing_and_sends_what_is_complete(
    at_work: Window, person: Enrollment
) -> None:
    press = at_work.page.keyboard.press
    at_work.choose(q1="yes", q2="yes", q4="yes")
    at_work.heading.focus()
    press("Enter")
    expect(at_work.radio("q3", "yes")).to_be_focused()
    press("2")
    at_work.heading.focus()
    press("Enter")
    on_story(at_work, 2)
    at_work.choose(**FORM)
    at_work.radio("q4", "yes").focus()
    press("Enter")
    on_story(at_work, 3)
    assert stored_forms(person) == [answers(q3="no"), FORM]


def test_a_story_is_answered_by_tab_space_and_arrows_alone(
    open_window: OpenWindow, person: Enrollment
) -> None:
    window = at_first_story(open_window(viewport=DESKTOP), person)
    Arrows().answer(window, FORM)
    on_story(window, 2)
    assert stored_forms(person) == [FORM]


def test_a_slow_save_is_announced_keeps_the_focus_and_is_sent_once(at_work: Window) -> None:
    waiting: list[Route] = []
    at_work.page.route("**/stories/", lambda route: waiting.append(route))
    at_work.choose(**FORM)
    at_work.button(SAVE).click()
    expect(at_work.page.locator("#status")).to_have_text("Still saving…")
    expect(at_work.page.locator("[data-slow]")).to_be_visible()
    expect(at_work.button(SAVE)).to_be_focused()
    at_work.page.keyboard.press("Enter")
    assert len(waiting) == 1
    waiting[0].continue_()
    on_story(at_work, 2)
    expect(at_work.page.locator("#status")).to_have_text(re.compile("^Saved at"))
    expect(at_work.page.locator("[data-slow]")).to_be_hidden()


def test_the_story_of_a_page_that_is_looked_at_stays_reserved(at_work: Window, person: Enrollment) -> None:
    held = Assignment.objects.get(enrollment=person)
    at_work.page.locator("[data-renew]").evaluate("(form) => (form.dataset.every = 0)")
    look = "() => document.dispatchEvent(new Event('visibilitychange'))"
    at_work.page.evaluate("() => Object.defineProperty(document, 'hidden', { value: true, writable: true })")
    at_work.requests.clear()
    at_work.page.evaluate(look)
    assert at_work.requests == []
    at_work.page.evaluate("() => { document.hidden = false; }")
    with at_work.page.expect_response("**/lease/") as reply:
        at_work.page.evaluate(look)
    assert reply.value.status == 204
    before = held.lease_expires_at
    held.refresh_from_db()
    assert held.lease_expires_at > before


# Something is missing -------------------------------------------------------------------------------


@with_and_without_scripts
def test_an_incomplete_form_says_what_is_missing_and_keeps_the_rest(
    open_window: OpenWindow, person: Enrollment, scripts: bool
) -> None:
    window = at_first_story(open_window(java_script_enabled=scripts), person)
    window.choose(q1="possibly", q3="no")
    window.button(SAVE).click()
    alert = window.page.get_by_role("alert").filter(visible=True)
    expect(alert.get_by_role("heading")).to_have_text("Not saved yet")
    expect(alert.get_by_role("link")).to_have_text(
        ["Unlikely to be noticed: Please choose an answer.", re.compile(": Please choose an answer.$")]
    )
    expect(window.radio("q1", "possibly")).to_be_checked()
    expect(window.radio("q3", "no")).to_be_checked()
    expect(window.page.locator("input[type=radio]:checked")).to_have_count(2)
    expect(window.radio("q2", "yes")).to_have_accessible_description("Please choose an answer.")
    if scripts:
        expect(window.radio("q2", "yes")).to_be_focused()
        assert not [said for said in window.complaints if "not focusable" in said]
    assert not Vote.objects.exists()
    alert.get_by_role("link").first.click()
    expect(window.label("q2", "yes")).to_be_in_viewport()
    window.choose(q2="yes", q4="yes")
    window.button(SAVE).click()
    on_story(window, 2)
    assert stored_forms(person) == [FORM]


# Sent more than once --------------------------------------------------------------------------------


@with_and_without_scripts
def test_a_double_click_is_one_vote(open_window: OpenWindow, person: Enrollment, scripts: bool) -> None:
    window = at_first_story(open_window(java_script_enabled=scripts), person)
    window.choose(**FORM)
    window.button(SAVE).dblclick()
    on_story(window, 2)
    expect(window.page.locator("input[type=radio]:checked")).to_have_count(0)
    assert stored_forms(person) == [FORM]


def test_a_second_click_does_not_save_the_next_story_unanswered(at_work: Window, person: Enrollment) -> None:
    """The second click of a double click may come when the next story has taken the place of the first."""
    at_work.choose(**FORM)
    at_work.page.evaluate(
        """() => document.addEventListener("htmx:afterSwap", () => {
            document.querySelector("#answers [type=submit]").click();
        }, { once: true })"""
    )
    at_work.button(SAVE).click()
    on_story(at_work, 2)
    expect(at_work.page.locator("#work .receipt")).to_be_visible()
    expect(at_work.page.get_by_role("alert").filter(visible=True)).to_have_count(0)
    assert stored_forms(person) == [FORM]


@with_and_without_scripts
def test_back_never_shows_old_answers_on_another_story(
    open_window: OpenWindow, person: Enrollment, scripts: bool
) -> None:
    window = open_window(java_script_enabled=scripts)
    window.page.goto("/")
    at_first_story(window, person)
    window.choose(**FORM)
    window.button(SAVE).click()
    on_story(window, 2)
    story = window.page.locator("#work .parts").all_inner_texts()
    window.page.go_back()
    if scripts:  # the address stayed the same: back leaves the work, forward returns to it
        window.page.go_forward()
    on_story(window, 2)
    assert window.page.locator("#work .parts").all_inner_texts() == story
    expect(window.page.locator("input[type=radio]:checked")).to_have_count(0)
    window.choose(**ALL_YES)
    window.button(SAVE).click()
    on_story(window, 3)
    assert stored_forms(person) == [FORM, ALL_YES]


def test_two_tabs_give_one_vote_and_the_second_says_so(at_work: Window, person: Enrollment) -> None:
    second = Window(at_work.context.new_page(), at_work.site)
    second.page.goto(at_work.page.url)
    on_story(second, 1)
    shown = "form#answers input[name=assignment]"
    assert second.page.locator(shown).input_value() == at_work.page.locator(shown).input_value()
    at_work.choose(**FORM)
    at_work.button(SAVE).click()
    on_story(at_work, 2)
    second.choose(**ALL_YES)
    second.button(SAVE).click()
    on_story(second, 2)
    expect(second.page.locator("#work .receipt")).to_contain_text("Your first answers were kept")
    expect(second.page.locator("#status")).to_contain_text("Your first answers were kept")
    assert stored_forms(person) == [FORM]
