"""Measure the wait from the submitting key to the next story on screen, in a real Chromium."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bench.machine import load
from bench.measure import HOST, Times, serving
from bench.world import World, copy_world

if TYPE_CHECKING:
    from playwright.sync_api import Page

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
WARM_UP = 5
"""Submissions before the first timed one."""
SECONDS = 10
"""Time limit of one submission."""
DESK = {"width": 1280, "height": 900}
WATCH = """() => {
  const seen = (window.seen = { times: [], shifts: 0 });
  let pressed = 0;
  addEventListener("keydown", ({ key, timeStamp }) => key === "Enter" && (pressed = timeStamp), true);
  new PerformanceObserver((list) => {
    for (const shift of list.getEntries()) seen.shifts += shift.value;
  }).observe({ type: "layout-shift" });
  document.addEventListener("htmx:afterSettle", () => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      const sent = performance.getEntriesByType("resource").at(-1);
      const focused = document.activeElement?.matches("#work h1");
      const first = document.querySelector("[data-answers] input[type=radio]");
      if (focused && first && !first.checked) {
        seen.times.push([performance.now() - pressed, sent.responseEnd - sent.startTime]);
      }
      performance.clearResourceTimings();
    };
    requestAnimationFrame(() => port2.postMessage(0)); // handled after the frame has been drawn
  });
}"""


class NoBrowser(RuntimeError):
    """Chromium or Playwright is missing."""


@dataclass(frozen=True, slots=True)
class Screen:
    """Measurements of one annotator who answers by keyboard without think time."""

    readable: Times
    """From the submitting key to the next story drawn, its heading focused and its keys ready."""
    request: Times
    """The part of it between sending the form and receiving the whole response."""
    layout_shift: float
    """Sum over all submissions, without leave for what follows a key at once."""
    load_before: float


def screen(world: World, *, submissions: int, port: int) -> Screen:
    """Answer this many stories in Chromium on the real server. Raise :class:`NoBrowser`."""
    url = copy_world(world, "bench_screen")
    before = load()
    with serving({port: url}, more=()):
        seen = _work(f"http://{HOST}:{port}{world.paths[0]}", submissions)
    return Screen(
        readable=Times.of(whole / 1000 for whole, _ in seen["times"]),
        request=Times.of(request / 1000 for _, request in seen["times"]),
        layout_shift=round(seen["shifts"], 4),
        load_before=before,
    )


def _work(address: str, submissions: int) -> dict[str, Any]:
    found = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        raise NoBrowser("No Chromium on the PATH, and CHROMIUM does not name one.")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError as error:
        raise NoBrowser("Playwright is not installed: make setup installs it.") from error
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--disable-gpu"])
        page = browser.new_page(viewport=DESK)  # type: ignore[arg-type]
        page.set_default_timeout(1000 * SECONDS)
        page.goto(address, wait_until="networkidle")
        page.evaluate(WATCH)
        for number in range(1, WARM_UP + submissions + 1):
            submit(page, number)
            if number == WARM_UP:
                page.evaluate("() => { seen.times = []; seen.shifts = 0; }")
        seen: dict[str, Any] = page.evaluate("seen")
        browser.close()
    return seen


def submit(page: Page, number: int) -> None:
    """Answer the current story by keyboard, and wait until the next one is readable."""
    for _question in range(4):
        page.keyboard.press("1")
    page.keyboard.press("Enter")
    expected = number if number <= WARM_UP else number - WARM_UP
    page.wait_for_function("(count) => seen.times.length === count", arg=expected)
