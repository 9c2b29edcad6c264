"""Weight, compression, motion, keys and print: what a page costs and adapts to."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from annotation.models import Enrollment
from tests.browser.conftest import OpenWindow
from tests.browser.journeys import SAVE
from tests.browser.test_submitting import FORM, at_first_story
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


def test_the_first_load_of_a_story_is_light_and_comes_from_here_alone(
    window: Window, person: Enrollment
) -> None:
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


def test_the_next_story_comes_compressed(window: Window, person: Enrollment) -> None:
    at_first_story(window, person)
    window.choose(**FORM)
    window.requests.clear()
    window.button(SAVE).click()
    expect(window.heading).to_have_text("Story 2")
    (size,) = on_the_wire(window).values()
    assert size < MOST_BYTES_OF_NEXT


def test_static_files_are_compressed_and_kept_for_good(window: Window, person: Enrollment) -> None:
    window.page.goto(stories_path(person), wait_until="networkidle")
    files = [request.response() for request in window.requests if "/static/" in request.url]
    texts = [file for file in files if file and file.url.endswith((".css", ".js"))]
    assert len(texts) >= 3
    for file in texts:
        headers = file.all_headers()
        assert headers["content-encoding"] in ("gzip", "br")
        assert "immutable" in headers["cache-control"]


def test_nothing_moves_for_people_who_want_it_so(open_window: OpenWindow, person: Enrollment) -> None:
    for wish, moves in {"no-preference": True, "reduce": False}.items():
        window = open_window(reduced_motion=wish)
        window.page.goto(stories_path(person))
        expect(window.heading).to_have_text("Story 1")
        assert bool(window.page.evaluate(MOVING)) is moves


@pytest.mark.parametrize("touch", [True, False], ids=["finger", "keyboard"])
def test_keys_are_printed_only_where_there_are_any(
    open_window: OpenWindow, person: Enrollment, touch: bool
) -> None:
    window = open_window(has_touch=touch, is_mobile=touch)
    window.page.goto(stories_path(person))
    expect(window.heading).to_have_text("Story 1")
    expect(window.page.locator("[data-answers] kbd").filter(visible=True)).to_have_count(0 if touch else 10)
    expect(window.page.get_by_label("Keyboard shortcuts").filter(visible=True)).to_have_count(
        0 if touch else 1
    )


def test_paper_shows_the_instructions_unfolded_and_no_buttons(window: Window, person: Enrollment) -> None:
    window.page.goto(stories_path(person).replace("/stories/", "/instructions/"))
    window.page.emulate_media(media="print")
    window.page.evaluate("() => dispatchEvent(new Event('beforeprint'))")
    expect(window.page.locator("details:not([open])")).to_have_count(0)
    examples = window.page.locator(".example")
    assert examples.count() == 10, "one for every answer"
    expect(examples.filter(visible=True)).to_have_count(10)
    for gone in (".header", ".footer", ".actions"):
        expect(window.page.locator(gone).filter(visible=True)).to_have_count(0)
    colours = "() => [document.body, document.querySelector('h1')].map((at) => getComputedStyle(at).color)"
    assert window.page.evaluate(colours) == ["rgb(0, 0, 0)"] * 2


def test_paper_shows_a_story_without_its_keys(open_window: OpenWindow, person: Enrollment) -> None:
    window = at_first_story(open_window(viewport=DESKTOP), person)
    window.page.emulate_media(media="print")
    expect(window.page.locator("kbd, .keys-setting, .header, .skip").filter(visible=True)).to_have_count(0)
    expect(window.page.locator("#work .parts").filter(visible=True)).to_have_count(3)
