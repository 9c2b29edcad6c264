"""One test per key, on every page with a form: stories, test stories, and an answer that is changed."""

from __future__ import annotations

import itertools
import re
from typing import Any

import pytest
from playwright.sync_api import expect

from annotation.models import Enrollment, Study
from tests import builders
from tests.browser.conftest import OpenWindow
from tests.browser.pages import OWN, start_test
from tests.browser.submitting import at_first_story
from tests.browser.windows import DESKTOP, PHONE, Window, stories_path

pytestmark = pytest.mark.browser

INSTRUCTIONS = "#instructions"


@pytest.fixture
def at_work(open_window: OpenWindow, person: Enrollment) -> Window:
    """A first story, on a desk, where there are keys."""
    return at_first_story(open_window(viewport=DESKTOP), person)


@pytest.fixture
def at_a_form(request: pytest.FixtureRequest, open_window: OpenWindow, study: Study) -> Window:
    """Each of the pages with a form, nothing or (when changing) everything chosen."""
    arrange = {
        "story": lambda: stories_path(builders.qualified(study)[0]),
        "test story": lambda: start_test(study),
        "changing": lambda: OWN["changing"][0](study),
    }
    window = open_window(viewport=DESKTOP)
    window.page.goto(arrange[request.param]())
    expect(window.page.get_by_label("Keyboard shortcuts")).to_be_visible()
    return window


def press(window: Window, *keys: str) -> None:
    for key in keys:
        window.page.keyboard.press(key)


def chosen(window: Window) -> list[str]:
    """The ids of the answers that are chosen, in order."""
    ids: list[str] = window.page.evaluate(
        "() => [...document.querySelectorAll('[data-answers] input:checked')].map((input) => input.id)"
    )
    return ids


# Backwards ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("at_a_form", "key"),
    [
        pytest.param("story", "Backspace", marks=pytest.mark.torture),
        ("test story", "ArrowLeft"),
        ("changing", "ArrowUp"),
    ],
    indirect=["at_a_form"],
)
def test_back_goes_to_the_question_before_and_changes_no_answer(at_a_form: Window, key: str) -> None:
    address = at_a_form.page.url
    at_a_form.choose(q1="yes", q2="possibly", q3="yes", q4="yes")
    at_a_form.heading.focus()
    press(at_a_form, "Backspace")
    for option in ("q4-yes", "q3-yes", "q2-possibly", "q1-yes", "q1-yes", "q1-yes"):  # at the first it stays
        expect(at_a_form.page.locator(f"#{option}")).to_be_focused()
        expect(at_a_form.page.locator(f"label[for='{option}']")).to_be_in_viewport()
        press(at_a_form, key)
    assert chosen(at_a_form) == ["q1-yes", "q2-possibly", "q3-yes", "q4-yes"]
    assert at_a_form.page.url == address


def test_back_leads_to_an_answer_to_mend_from_the_next_question_and_from_none(at_work: Window) -> None:
    press(at_work, "1", "1", "Backspace", "3")
    assert chosen(at_work) == ["q1-yes", "q2-no"]
    expect(at_work.radio("q3", "yes")).to_be_focused()
    at_work.heading.focus()
    press(at_work, "Backspace")
    expect(at_work.radio("q2", "no")).to_be_focused()


# Forwards -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["ArrowRight", pytest.param("ArrowDown", marks=pytest.mark.torture)])
def test_forward_goes_to_the_next_question_and_at_last_to_the_button(at_work: Window, key: str) -> None:
    press(at_work, "1", "1", "Backspace", "Backspace")
    for target in (at_work.radio("q2", "yes"), at_work.radio("q3", "yes"), at_work.radio("q4", "yes")):
        press(at_work, key)
        expect(target).to_be_focused()
    press(at_work, key)
    expect(at_work.button("Save and continue")).to_be_focused()
    press(at_work, key)
    expect(at_work.button("Save and continue")).to_be_focused()
    assert chosen(at_work) == ["q1-yes", "q2-yes"]


def test_forward_from_no_question_goes_to_the_first_that_is_open(at_work: Window) -> None:
    at_work.choose(q1="yes")
    at_work.heading.focus()
    press(at_work, "ArrowRight")
    expect(at_work.radio("q2", "yes")).to_be_focused()


def test_up_and_down_scroll_while_nobody_is_at_a_question(at_work: Window) -> None:
    at_work.page.set_viewport_size({"width": 1280, "height": 400})
    at_work.heading.focus()
    press(at_work, "ArrowDown")
    at_work.wait_until("scrollY > 0")
    expect(at_work.heading).to_be_focused()


def test_arrows_choose_an_answer_where_an_incomplete_form_was_refused(at_work: Window) -> None:
    press(at_work, "1")
    at_work.button("Save and continue").click()
    first = at_work.radio("q2", "yes")
    expect(first).to_be_focused()
    press(at_work, "ArrowRight")
    expect(at_work.radio("q2", "possibly")).to_be_checked()


def test_back_is_to_the_right_where_people_write_from_there(
    open_window: OpenWindow, person: Enrollment, settings: Any
) -> None:
    settings.LANGUAGES = [*settings.LANGUAGES, ("ar", "العربية")]
    window = open_window(locale="ar", viewport=DESKTOP)
    window.page.goto(stories_path(person))
    expect(window.page.locator("html")).to_have_attribute("dir", "rtl")
    press(window, "1", "1", "ArrowRight")
    expect(window.radio("q2", "yes")).to_be_focused()
    press(window, "ArrowLeft")
    expect(window.radio("q3", "yes")).to_be_focused()
    expect(window.page.locator(".keys .key").get_by_text("→")).to_have_count(1)


# Instructions ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("at_a_form", "closing"),
    [pytest.param("story", "?", marks=pytest.mark.torture), ("test story", "Escape"), ("changing", "?")],
    indirect=["at_a_form"],
)
def test_a_key_opens_the_instructions_at_this_question_and_leads_back(
    at_a_form: Window, closing: str
) -> None:
    page, address = at_a_form.page, at_a_form.page.url
    press(at_a_form, "ArrowRight", "ArrowRight", "ArrowRight")
    answered, top = chosen(at_a_form), page.evaluate("scrollY")
    press(at_a_form, "?")
    panel = page.locator(INSTRUCTIONS)
    expect(panel).to_have_attribute("open", "")
    examples = panel.locator("details[open]")
    expect(examples.locator("summary")).to_have_text(re.compile(r"^3\."))
    expect(examples.locator("summary")).to_be_focused()
    expect(examples.locator(".example").first).to_be_in_viewport()
    press(at_a_form, "2", "Backspace")  # nobody answers while reading
    assert chosen(at_a_form) == answered
    press(at_a_form, closing)
    expect(panel).not_to_have_attribute("open", "")
    expect(page.locator("input[name=q3]:checked, #q3-yes").first).to_be_focused()
    assert page.evaluate("scrollY") == top
    assert page.url == address
    press(at_a_form, "Backspace")
    expect(page.locator("input[name=q2]:checked, #q2-yes").first).to_be_focused()


def test_without_a_question_at_hand_the_instructions_open_at_their_beginning(at_work: Window) -> None:
    press(at_work, "?")
    summary = at_work.page.locator(f"{INSTRUCTIONS} > summary")
    expect(summary).to_be_focused()
    expect(summary).to_be_in_viewport()
    expect(at_work.page.get_by_role("heading", name="Why this work matters")).to_be_in_viewport()


def test_instructions_opened_by_mouse_close_by_key_and_keep_the_focus(at_work: Window) -> None:
    summary = at_work.page.locator(f"{INSTRUCTIONS} > summary")
    summary.click()
    press(at_work, "Escape")
    expect(at_work.page.locator(INSTRUCTIONS)).not_to_have_attribute("open", "")
    expect(summary).to_be_focused()


def test_arrows_choose_among_the_answers_for_people_who_tab(at_work: Window) -> None:
    """As in every form: what is hijacked there is lost for whoever does not know our keys."""
    at_work.radio("q1", "yes").focus()
    press(at_work, "Space", "ArrowRight")
    assert chosen(at_work) == ["q1-possibly"]
    expect(at_work.radio("q1", "possibly")).to_be_focused()
    press(at_work, "?", "Escape")
    expect(at_work.radio("q1", "possibly")).to_be_focused()
    press(at_work, "ArrowRight")
    assert chosen(at_work) == ["q1-no"]


def test_a_place_that_was_left_by_mouse_is_not_gone_back_to(at_work: Window) -> None:
    panel, summary = at_work.page.locator(INSTRUCTIONS), at_work.page.locator(f"{INSTRUCTIONS} > summary")
    press(at_work, "1", "?")
    summary.click()
    expect(panel).not_to_have_attribute("open", "")
    summary.click()
    expect(panel).to_have_attribute("open", "")
    press(at_work, "Escape")
    expect(summary).to_be_focused()


def test_the_next_story_closes_instructions_above_it_and_keeps_those_beside_it(at_work: Window) -> None:
    panel, form = at_work.page.locator(INSTRUCTIONS), at_work.page.locator("form#answers")
    place = "form => [form.getBoundingClientRect().y, form.clientWidth, form.clientHeight]"
    before = form.evaluate(place)
    press(at_work, "?")
    assert form.evaluate(place) == pytest.approx(before, abs=1)
    for story, size in ((2, DESKTOP), (3, PHONE)):
        at_work.page.set_viewport_size(size)
        at_work.choose(**builders.ALL_YES)
        at_work.button("Save and continue").click()
        expect(at_work.heading).to_have_text(f"Story {story}")
        assert panel.evaluate("panel => panel.open") == (size == DESKTOP)
    press(at_work, "?", "Escape")
    expect(at_work.heading).to_be_focused()


# When keys are no business of ours --------------------------------------------------------------------


def test_keys_are_listed_and_can_all_be_switched_off(at_work: Window) -> None:
    listed = at_work.page.locator(".keys kbd").filter(visible=True)
    expect(listed).to_have_text(["1", "2", "Enter", "Backspace", "←", "→", "?"])
    at_work.page.get_by_label("Keyboard shortcuts").uncheck()
    expect(at_work.page.locator("kbd").filter(visible=True)).to_have_count(0)
    at_work.radio("q2", "yes").focus()
    press(at_work, "1", "?", "Backspace")
    at_work.heading.focus()
    press(at_work, "ArrowRight", "Enter")
    expect(at_work.heading).to_be_focused()
    assert chosen(at_work) == []
    expect(at_work.page.locator(INSTRUCTIONS)).not_to_have_attribute("open", "")


def test_keys_with_modifiers_are_the_browsers(at_work: Window) -> None:
    at_work.choose(q1="yes")
    at_work.heading.focus()
    taken = at_work.page.evaluate(
        """() => {
          const flags = ["ctrlKey", "altKey", "metaKey", "shiftKey"];
          return flags.flatMap((flag) => {
            const digits = flag === "shiftKey" ? [] : ["1"]; // Shift types digits on some keyboards
            return [...digits, "Backspace", "ArrowLeft", "ArrowRight", "Enter"].filter((key) =>
              !document.activeElement.dispatchEvent(
                new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, [flag]: true })));
          });
        }"""
    )
    assert taken == []
    assert chosen(at_work) == ["q1-yes"]


def test_a_digit_that_needs_shift_is_a_digit(at_work: Window) -> None:
    """As on French and Czech keyboards."""
    at_work.page.evaluate(
        """() => document.activeElement.dispatchEvent(
          new KeyboardEvent("keydown", { key: "2", shiftKey: true, bubbles: true, cancelable: true }))"""
    )
    assert chosen(at_work) == ["q1-possibly"]


def test_a_digit_answers_the_question_whose_explanation_has_the_focus(at_work: Window) -> None:
    help_of_third = at_work.page.locator("[data-question]").nth(2).locator(".help summary")
    help_of_third.focus()
    press(at_work, "2")
    assert chosen(at_work) == ["q3-no"]
    help_of_third.focus()
    press(at_work, "1")
    assert chosen(at_work) == ["q3-yes"]


def test_keys_are_letters_to_people_who_type(at_work: Window) -> None:
    for field in ("<input>", "<textarea></textarea>", "<p contenteditable>x</p>"):
        at_work.page.evaluate(
            """(field) => {
              document.querySelector("#typed")?.remove();
              const form = document.querySelector("[data-answers]");
              form.insertAdjacentHTML("afterbegin", `<div id=typed>${field}</div>`);
              document.querySelector("#typed > *").focus();
            }""",
            field,
        )
        press(at_work, "1", "?", "2", "Backspace")
        typed = at_work.page.locator("#typed > *").evaluate("(at) => at.value ?? at.textContent")
        assert typed in ("1?", "1?x"), field
        assert chosen(at_work) == [], field
        expect(at_work.page.locator(INSTRUCTIONS)).not_to_have_attribute("open", "")


# The order in which Tab goes --------------------------------------------------------------------------


def test_tab_goes_through_the_page_from_the_top_down(at_work: Window) -> None:
    """Every stop has a name and a ring, and stands below or beside the one before."""
    stops: list[dict[str, Any]] = []
    at_work.page.evaluate("() => document.activeElement.blur()")
    while len(stops) < 40:
        press(at_work, "Tab")
        stop = at_work.page.evaluate(
            """() => {
              const at = document.activeElement;
              if (at === document.body) return null;
              const shown = at.matches("input[type=radio]") ? at.labels[0] : at;
              const box = shown.getBoundingClientRect();
              const style = getComputedStyle(shown);
              return { id: at.name || at.textContent.trim(), middle: box.top + scrollY + box.height / 2,
                       ring: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2 };
            }"""
        )
        if stop is None:
            break
        stops.append(stop)
    ids = [stop["id"] for stop in stops]
    assert ids[0] == "Skip to content"
    assert [name for name in ids if re.fullmatch(r"q\d", name)] == ["q1", "q2", "q3", "q4"]
    assert ids.index("q4") < ids.index("Save and continue") < ids.index("Stop here")
    assert all(stop["ring"] for stop in stops), stops
    tops = [stop["middle"] for stop in stops[1:]]
    assert all(later >= earlier - 8 for earlier, later in itertools.pairwise(tops)), stops


@pytest.mark.parametrize("width", [320, pytest.param(1280, marks=pytest.mark.torture)])
def test_what_stays_in_reach_covers_nothing_that_has_the_focus(
    open_window: OpenWindow, person: Enrollment, width: int
) -> None:
    """WCAG 2.4.11: the middle of whatever Tab reaches can be seen."""
    window = at_first_story(open_window(viewport={"width": width, "height": 700}), person)
    window.page.evaluate("() => document.activeElement.blur()")
    for _ in range(40):
        press(window, "Tab")
        covered = window.page.evaluate(
            """() => {
              const at = document.activeElement;
              if (at === document.body) return null;
              const shown = at.matches("input[type=radio]") ? at.labels[0] : at;
              const box = shown.getBoundingClientRect();
              const top = document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
              return shown.contains(top) || top?.contains(shown) ? "" : shown.outerHTML;
            }"""
        )
        if covered is None:
            break
        assert covered == ""
