"""Keys on the pages with a form: backwards and forwards, the instructions, and whose keys they are."""

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
        pytest.param("test story", "ArrowLeft", marks=pytest.mark.torture),
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


# Answers and forwards --------------------------------------------------------------------------------


def test_digits_answer_from_wherever_the_focus_is_and_back_leads_to_what_is_to_mend(at_work: Window) -> None:
    press(at_work, "1", "1", "Backspace", "3")
    assert chosen(at_work) == ["q1-yes", "q2-no"]
    expect(at_work.radio("q3", "yes")).to_be_focused()
    at_work.heading.focus()
    press(at_work, "Backspace")
    expect(at_work.radio("q2", "no")).to_be_focused()
    at_work.page.evaluate(
        """() => document.activeElement.dispatchEvent(
          new KeyboardEvent("keydown", { key: "2", shiftKey: true, bubbles: true, cancelable: true }))"""
    )  # as on French and Czech keyboards
    assert chosen(at_work) == ["q1-yes", "q2-possibly"]
    help_of_third = at_work.page.locator("[data-question]").nth(2).locator(".help summary")
    for key, option in {"2": "q3-no", "1": "q3-yes"}.items():
        help_of_third.focus()
        press(at_work, key)
        assert chosen(at_work)[2:] == [option]


def test_arrows_go_forward_after_our_keys_and_choose_after_all_else(at_work: Window) -> None:
    """As in every form: what is hijacked there is lost for whoever does not know our keys."""
    at_work.choose(q1="yes")
    at_work.heading.focus()
    for key, question in {"ArrowRight": "q2", "ArrowDown": "q3", "ArrowLeft": "q2"}.items():
        press(at_work, key)
        expect(at_work.radio(question, "yes")).to_be_focused()
    press(at_work, *["ArrowRight"] * 4)  # at the button it stays
    expect(at_work.button("Save and continue")).to_be_focused()
    assert chosen(at_work) == ["q1-yes"]

    at_work.radio("q1", "yes").focus()
    press(at_work, "ArrowRight")
    assert chosen(at_work) == ["q1-possibly"]
    press(at_work, "?", "Escape")
    expect(at_work.radio("q1", "possibly")).to_be_focused()
    press(at_work, "ArrowRight")
    assert chosen(at_work) == ["q1-no"]
    at_work.button("Save and continue").click()  # what is missing gets the focus
    expect(at_work.radio("q2", "yes")).to_be_focused()
    press(at_work, "ArrowRight")
    expect(at_work.radio("q2", "possibly")).to_be_checked()


# Instructions ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("at_a_form", "closing"),
    [
        pytest.param("story", "?", marks=pytest.mark.torture),
        ("test story", "Escape"),
        pytest.param("changing", "?", marks=pytest.mark.torture),
    ],
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


def test_instructions_that_were_opened_or_left_by_mouse_keep_the_focus(at_work: Window) -> None:
    panel, summary = at_work.page.locator(INSTRUCTIONS), at_work.page.locator(f"{INSTRUCTIONS} > summary")
    press(at_work, "?")  # without a question at hand they open at their beginning
    expect(summary).to_be_focused()
    expect(at_work.page.get_by_role("heading", name="Why this work matters")).to_be_in_viewport()
    press(at_work, "?")
    expect(panel).not_to_have_attribute("open", "")
    summary.click()
    press(at_work, "Escape")
    expect(panel).not_to_have_attribute("open", "")
    expect(summary).to_be_focused()
    at_work.heading.focus()
    press(at_work, "1", "?")
    summary.click()
    expect(panel).not_to_have_attribute("open", "")
    summary.click()
    expect(panel).to_have_attribute("open", "")
    press(at_work, "Escape")  # the question that was left by mouse is not gone back to
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


def test_keys_belong_to_the_browser_and_to_people_who_type(at_work: Window) -> None:
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
    assert chosen(at_work) == []
    expect(at_work.page.locator(INSTRUCTIONS)).not_to_have_attribute("open", "")
    at_work.page.set_viewport_size({"width": 1280, "height": 400})
    at_work.heading.focus()
    press(at_work, "ArrowDown")  # scrolls, while nobody is at a question
    at_work.wait_until("scrollY > 0")
    expect(at_work.heading).to_be_focused()


# The order in which Tab goes --------------------------------------------------------------------------


def stops_of_tab(window: Window) -> list[dict[str, Any]]:
    """Everything that Tab reaches, in order, with its place, its ring and what covers its middle."""
    stops: list[dict[str, Any]] = []
    window.page.evaluate("() => document.activeElement.blur()")
    while len(stops) < 40:
        press(window, "Tab")
        stop = window.page.evaluate(
            """() => {
              const at = document.activeElement;
              if (at === document.body) return null;
              const shown = at.matches("input[type=radio]") ? at.labels[0] : at;
              const box = shown.getBoundingClientRect();
              const style = getComputedStyle(shown);
              const top = document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
              return { id: at.name || at.textContent.trim(), middle: box.top + scrollY + box.height / 2,
                       ring: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2,
                       cover: shown.contains(top) || top?.contains(shown) ? "" : top?.outerHTML };
            }"""
        )
        if stop is None:
            break
        stops.append(stop)
    return stops


def test_tab_goes_from_the_top_down_to_stops_that_nothing_covers(at_work: Window) -> None:
    """Each has a name and a ring, stands below or beside the one before, and is in sight (WCAG 2.4.11)."""
    stops = stops_of_tab(at_work)
    ids = [stop["id"] for stop in stops]
    assert ids[0] == "Skip to content"  # it leads to the work, see the end
    assert [name for name in ids if re.fullmatch(r"q\d", name)] == ["q1", "q2", "q3", "q4"]
    assert ids.index("q4") < ids.index("Save and continue") < ids.index("Stop here")
    tops = [stop["middle"] for stop in stops[1:]]
    assert all(later >= earlier - 8 for earlier, later in itertools.pairwise(tops)), stops
    at_work.page.set_viewport_size({"width": 320, "height": 700})
    at_work.page.reload()
    on_phone = stops_of_tab(at_work)
    assert len(on_phone) > 10
    assert [stop for stop in stops + on_phone if not stop["ring"] or stop["cover"]] == []
    at_work.page.reload()
    press(at_work, "Tab", "Enter")
    expect(at_work.page.locator("#main")).to_be_focused()
