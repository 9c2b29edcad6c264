"""What must be true of every page: axe-core finds nothing, nothing is too wide, nothing is hard to hit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from axe_playwright_python.base import AxeResults
from axe_playwright_python.sync_playwright import Axe

from tests.browser.windows import Window

if TYPE_CHECKING:
    from playwright.sync_api import ViewportSize

AXE = Axe()
OF_COLOURS = ["color-contrast", "link-in-text-block"]
"""The rules of axe-core that look at colours: nearly all of its work."""
SCHEMES: dict[Literal["light", "dark"], dict[str, Any]] = {
    "light": {"resultTypes": ["violations"]},
    "dark": {"resultTypes": ["violations"], "runOnly": OF_COLOURS},
}
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
    """Everything in this module, on the page that is open."""
    assert_accessible(window)
    assert_fits(window)


def assert_accessible(window: Window, *, within: str | None = None) -> None:
    """Every rule of axe-core in the light, and once more in the dark those that look at colours."""
    window.page.evaluate(AXE.axe_script)
    for scheme, rules in SCHEMES.items():
        window.page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        _assert_no_violations(window, within, rules, scheme)


def assert_accessible_but_for_colours(window: Window) -> None:
    """The other rules of axe-core: for another language of a page whose colours have been looked at."""
    window.page.evaluate(AXE.axe_script)
    without = {"resultTypes": ["violations"], "rules": {name: {"enabled": False} for name in OF_COLOURS}}
    _assert_no_violations(window, None, without, "without colours")


def _assert_no_violations(window: Window, within: str | None, rules: dict[str, Any], how: str) -> None:
    page = window.page
    response = page.evaluate("([within, rules]) => axe.run(within ?? document, rules)", [within, rules])
    found = AxeResults(response)
    assert found.violations_count == 0, f"{page.url}, {how}: {found.generate_report()}"


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
