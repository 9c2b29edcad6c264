"""Weight, compression, motion, keys and print: what a page costs and adapts to."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from annotation.models import Enrollment
from tests.browser.conftest import OpenWindow
from tests.browser.journeys import SAVE
from tests.browser.submitting import FORM, at_first_story
from tests.browser.windows import DESKTOP, Window, stories_path

pytestmark = pytest.mark.browser

MOST_BYTES = 60_000
MOST_REQUESTS = 12
MOST_BYTES_OF_NEXT = 5_000
MOVING = """() =>
  [...document.querySelectorAll("*")].filter((element) => {
    const style = getComputedStyle(element);
    const lasts = (times) => times.split(",").some((time) => parseFloat(time) > 0);
    const durations = [style.transitionDuration, style.animationDuration];
    return durations.some(lasts) || style.scrollBehavior === "smooth";
  }).map((element) => element.outerHTML.slice(0, 100))"""


def on_the_wire(window: Window) -> dict[str, int]:
    """Bytes that came for each address asked for, heads and bodies, as they were transferred."""
    sizes = {}
    for request in window.requests:
        size = request.sizes()
        sizes[request.url.removeprefix(window.site)] = size["responseBodySize"] + size["responseHeadersSize"]
    return sizes


def test_a_story_is_light_compressed_and_comes_from_here_alone(window: Window, person: Enrollment) -> None:
    page = window.page.goto(stories_path(person), wait_until="networkidle")
    expect(window.heading).to_have_text("Story 1")
    sizes = on_the_wire(window)
    assert len(window.requests) <= MOST_REQUESTS, sizes
    assert sum(sizes.values()) <= MOST_BYTES, sizes
    assert window.foreign_requests() == []
    assert window.complaints == []
    assert page is not None
    assert page.headers["content-encoding"] == "gzip"
    assert page.request.sizes()["responseBodySize"] < len(page.body()) / 3  # measured as it was transferred

    files = [request.response() for request in window.requests if "/static/" in request.url]
    texts = [file for file in files if file and file.url.endswith((".css", ".js"))]
    assert len(texts) >= 3
    for file in texts:
        headers = file.all_headers()
        assert headers["content-encoding"] in ("gzip", "br")
        assert "immutable" in headers["cache-control"]

    window.choose(**FORM)
    window.requests.clear()
    window.button(SAVE).click()
    expect(window.heading).to_have_text("Story 2")
    (size,) = on_the_wire(window).values()
    assert size < MOST_BYTES_OF_NEXT


def test_nothing_moves_for_people_who_want_it_so(window: Window, person: Enrollment) -> None:
    at_first_story(window, person)
    assert window.page.evaluate(MOVING)
    window.page.emulate_media(reduced_motion="reduce")
    assert window.page.evaluate(MOVING) == []


def test_paper_shows_everything_unfolded_and_nothing_to_press(
    open_window: OpenWindow, person: Enrollment
) -> None:
    window = at_first_story(open_window(viewport=DESKTOP), person)
    window.page.emulate_media(media="print")
    expect(window.page.locator("kbd, .keys-setting, .header, .skip").filter(visible=True)).to_have_count(0)
    expect(window.page.locator("#work .parts").filter(visible=True)).to_have_count(3)

    window.page.goto(window.page.url.replace("/stories/", "/instructions/"))
    window.page.evaluate("() => dispatchEvent(new Event('beforeprint'))")
    expect(window.page.locator("details:not([open])")).to_have_count(0)
    examples = window.page.locator(".example")
    assert examples.count() == 10, "one for every answer"
    expect(examples.filter(visible=True)).to_have_count(10)
    for gone in (".header", ".footer", ".actions"):
        expect(window.page.locator(gone).filter(visible=True)).to_have_count(0)
    colours = "() => [document.body, document.querySelector('h1')].map((at) => getComputedStyle(at).color)"
    assert window.page.evaluate(colours) == ["rgb(0, 0, 0)"] * 2


# A phone -------------------------------------------------------------------------------------------


def shown_parts(window: Window) -> list[str]:
    """The names of the parts of the story that can be seen."""
    seen = window.page.locator("[data-part]").filter(visible=True)
    names: list[str] = seen.evaluate_all("(parts) => parts.map((part) => part.dataset.part)")
    return names


def test_a_phone_shows_one_question_at_a_time_and_marks_what_is_new(
    open_window: OpenWindow, person: Enrollment
) -> None:
    window = at_first_story(open_window(has_touch=True, is_mobile=True), person)
    questions = window.page.locator("[data-question] > fieldset").filter(visible=True)
    keys = window.page.locator("[data-answers] kbd, .keys-setting").filter(visible=True)
    expect(keys).to_have_count(0)
    told = {
        "q1": ["person", "key_information"],
        "q2": ["story"],
        "q3": ["story", "question", "action_a", "action_b"],
        "q4": ["story", "question", "action_a", "action_b"],
    }
    for question, option in FORM.items():
        expect(questions).to_have_count(1)
        assert shown_parts(window) == told[question]
        described = questions.get_attribute("aria-describedby") or ""
        assert described.split() == [f"part-{name}" for name in told[question]]
        expect(window.button(SAVE)).to_be_in_viewport(ratio=1)
        expect(window.link("Instructions")).to_be_in_viewport(ratio=1)
        window.label(question, option).tap()
    story = window.page.locator("[data-part=story]")
    assert story.locator("mark").inner_text() in story.inner_text()
    assert story.locator("dd").get_attribute("lang") == "en"
    steps = window.page.locator("[data-steps] button")
    expect(steps).to_have_text(["1 Possibly", "2 Yes", "3 No", "4 Yes"])
    steps.nth(1).tap()
    expect(window.radio("q2", "yes")).to_be_focused()
    window.button(SAVE).tap()
    expect(window.heading).to_have_text("Story 2")
    assert shown_parts(window) == told["q1"]


def test_without_scripts_the_whole_form_is_there_and_tells_the_story_once(
    open_window: OpenWindow, person: Enrollment
) -> None:
    window = at_first_story(open_window(java_script_enabled=False), person)
    expect(window.page.locator("[data-question] > fieldset").filter(visible=True)).to_have_count(4)
    assert len(shown_parts(window)) == 6
    expect(window.button(SAVE)).to_be_in_viewport(ratio=1)
    expect(window.page.locator("[data-steps]")).to_be_hidden()
    expect(window.page.get_by_label("Keyboard shortcuts")).to_be_hidden()


def test_help_on_a_phone_leads_back_to_the_question(window: Window, person: Enrollment) -> None:
    at_first_story(window, person)
    window.label("q1", "yes").click()
    expect(window.radio("q2", "yes")).to_be_in_viewport()
    top = window.page.evaluate("scrollY")
    window.link("Instructions").click()
    panel = window.page.locator("#instructions")
    expect(panel.locator("details[open] > summary")).to_have_text(re.compile(r"^2\."))
    window.page.evaluate("scrollBy(0, 3000)")
    panel.locator(":scope > summary").click()
    expect(panel).not_to_have_attribute("open", "")
    window.wait_until(f"scrollY === {top}")
    expect(window.radio("q2", "yes")).to_be_in_viewport()
