"""What must be true of every page: axe-core finds nothing, nothing is too wide, nothing is hard to hit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from axe_playwright_python.base import AxeResults
from axe_playwright_python.sync_playwright import Axe

from tests.browser.windows import DESKTOP, PHONE, Window

if TYPE_CHECKING:
    from playwright.sync_api import Frame, Page, ViewportSize

AXE = Axe()
CONTRAST, LINKS = "color-contrast", "link-in-text-block"
"""The rules of axe-core that look at colours; the first only at marked elements, see ``MARK_LOOKS``."""
SCHEMES: dict[Literal["light", "dark"], dict[str, Any]] = {
    "light": {},
    "dark": {"runOnly": [CONTRAST, LINKS]},
}
"""By colour scheme, what runs over the whole page."""
MARK, ALIKE = "data-looked-at", 2
MARK_LOOKS = """([mark, alike]) => {
  const seen = new Map();
  for (const element of document.querySelectorAll("body, body *")) {
    element.removeAttribute(mark);
    const hasText = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (!hasText && !element.matches("input, select, textarea")) continue;
    if (!element.checkVisibility()) continue;
    const { color, fill, fontSize, fontWeight, textShadow } = getComputedStyle(element);
    const look = [element.localName, color, fill, fontSize, fontWeight, textShadow];
    for (let at = element; at; at = at.parentElement) {
      const { backgroundColor, backgroundImage, opacity, filter, position } = getComputedStyle(at);
      const behind = [backgroundColor, backgroundImage, opacity, filter].join(" ");
      if (behind !== "rgba(0, 0, 0, 0) none 1 none") look.push(behind);
      if (!["static", "relative"].includes(position)) look.push(position, at.localName, at.className);
      if (at.matches(":disabled, [aria-disabled=true]") || at.control?.disabled) look.push("disabled");
    }
    const key = look.join("|");
    seen.set(key, (seen.get(key) ?? 0) + 1);
    if (seen.get(key) <= alike) element.setAttribute(mark, "");
  }
}"""
"""Mark two of all elements that look alike: same letters, same backgrounds. Their contrast is the same."""
NARROW: tuple[ViewportSize, ...] = ({"width": 320, "height": 700}, {"width": 195, "height": 422})
"""1280 pixels at 400 % (WCAG 1.4.10), and a phone of 390 pixels at 200 %."""
TARGET = 44
"""CSS pixels that everything to press measures at least, both ways."""
TOO_WIDE = """() => {
  const root = document.scrollingElement;
  if (root.scrollWidth <= root.clientWidth) return [];
  return [...document.querySelectorAll("main *, header *, footer *")]
    .filter((element) => element.getBoundingClientRect().right > root.clientWidth + 1)
    .map((element) => element.outerHTML.slice(0, 100));
}"""
PRESSED = (
    "button, summary, .option label, .keys-setting label, "
    ".actions a, li > a:only-child, .header a, .standing a"
)
"""What people press; links within a sentence are exempt (WCAG 2.5.8)."""
SMALL_TARGETS = """([pressed, least]) =>
  [...document.querySelectorAll(pressed)]
    .filter((element) => element.checkVisibility())
    .map((element) => [element.getBoundingClientRect(), element])
    .filter(([box]) => box.height < least || box.width < least)
    .map(([box, element]) => `${box.width} x ${box.height}: ${element.outerHTML.slice(0, 100)}`)"""


def assert_good(window: Window) -> None:
    """Everything in this module, on the page that is open, with axe-core's rules in the other size too."""
    assert_accessible(window)
    assert_fits(window)
    page, before = window.page, window.page.viewport_size
    if before:
        page.emulate_media(color_scheme="light", reduced_motion="reduce")
        page.set_viewport_size(PHONE if before["width"] >= DESKTOP["width"] else DESKTOP)
        assert_no_violations(window.page, None, {}, "in the other size")
        page.set_viewport_size(before)


def assert_accessible(window: Window, *, within: str | None = None) -> None:
    """Every rule of axe-core in the light, and once more in the dark those that look at colours."""
    for scheme, rules in SCHEMES.items():
        window.page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        assert_no_violations(window.page, within, rules, scheme)


def assert_accessible_but_for_colours(window: Window) -> None:
    """The other rules of axe-core: for another language of a page whose colours have been looked at."""
    without = {"rules": {name: {"enabled": False} for name in (CONTRAST, LINKS)}}
    assert_no_violations(window.page, None, without, "without colours")


def assert_no_violations(where: Page | Frame, within: str | None, rules: dict[str, Any], how: str) -> None:
    """Run these rules once over the page, or the part of it."""
    if where.evaluate("typeof axe === 'undefined'"):
        where.evaluate(AXE.axe_script)
        where.evaluate("rule => axe.configure({rules: [rule]})", {"id": CONTRAST, "selector": f"[{MARK}]"})
    where.evaluate(MARK_LOOKS, [MARK, ALIKE])
    options = {"resultTypes": ["violations"], "preload": False} | rules
    response = where.evaluate("([within, rules]) => axe.run(within ?? document, rules)", [within, options])
    found = AxeResults(response)
    assert found.violations_count == 0, f"{where.url}, {how}: {found.generate_report()}"


def assert_fits(window: Window) -> None:
    """No sideways scrolling on narrow screens, and everything to press is large enough there."""
    page, before = window.page, window.page.viewport_size
    for size in NARROW:
        page.set_viewport_size(size)
        for script in (TOO_WIDE, SMALL_TARGETS):
            found = page.evaluate(script, [PRESSED, TARGET])
            assert found == [], f"{page.url} at {size['width']} px: {found}"
    if before:
        page.set_viewport_size(before)
