"""What must be true of every page: axe-core finds nothing, nothing is too wide, nothing is hard to hit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from axe_playwright_python.base import AxeResults
from axe_playwright_python.sync_playwright import Axe

from tests.browser.windows import DESKTOP, PHONE, Window

if TYPE_CHECKING:
    from playwright.sync_api import Frame, Page, ViewportSize

AXE = Axe()
LOAD_AXE = f"window.loadAxe = () => {{{AXE.axe_script}}};"
"""For each page of a profile: half a megabyte stays in the browser, and is compiled where it is used."""
CONTRAST, LINKS = "color-contrast", "link-in-text-block"
"""The rules of axe-core that look at colours; they look at marked elements only, see ``MARK_LOOKS``."""
EVERYTHING: dict[str, Any] = {}
NOTHING: dict[str, Any] = {}
COLOURS: dict[str, Any] = {"runOnly": [CONTRAST, LINKS]}
BUT_COLOURS: dict[str, Any] = {"rules": {name: {"enabled": False} for name in (CONTRAST, LINKS)}}
MARK, ALIKE = "data-looked-at", 2
MARK_LOOKS = """([mark, alike, known]) => {
  const [seen, judged] = [new Map(), new Set(known)];
  const hash = (text) => {
    let [one, two] = [0xdeadbeef, 0x41c6ce57];
    for (let at = 0; at < text.length; at++) {
      one = Math.imul(one ^ text.charCodeAt(at), 2654435761);
      two = Math.imul(two ^ text.charCodeAt(at), 1597334677);
    }
    return (two >>> 0).toString(36) + (one >>> 0).toString(36);
  };
  const [looks, around] = [new Map(), new Map([[null, []]])];
  const behind = (at) => {
    if (!around.has(at)) {
      const look = [];
      const { backgroundColor, backgroundImage, opacity, filter, position } = getComputedStyle(at);
      const own = [backgroundColor, backgroundImage, opacity, filter].join(" ");
      if (own !== "rgba(0, 0, 0, 0) none 1 none") look.push(own);
      if (!["static", "relative"].includes(position)) look.push(position, at.localName, at.className);
      if (at.matches(":disabled, [aria-disabled=true]") || at.control?.disabled) look.push("disabled");
      around.set(at, [...look, ...behind(at.parentElement)]);
    }
    return around.get(at);
  };
  for (const element of document.querySelectorAll("body, body *")) {
    element.removeAttribute(mark);
    const hasText = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (!hasText && !element.matches("input, select, textarea")) continue;
    if (!element.checkVisibility()) continue;
    const style = getComputedStyle(element);
    const { color, fill, fontSize, fontWeight, textShadow } = style;
    const look = [element.localName, color, fill, fontSize, fontWeight, textShadow];
    const link = element.closest("a, [role=link]");
    if (link) {
      const { color, fontWeight } = getComputedStyle(link.parentElement);
      look.push(style.textDecorationLine, style.borderBottomWidth, color, fontWeight);
    }
    look.push(...behind(element));
    const key = look.join("|");
    if (!looks.has(key)) looks.set(key, hash(key));
    if (judged.has(looks.get(key))) continue;
    seen.set(key, (seen.get(key) ?? 0) + 1);
    if (seen.get(key) <= alike) element.setAttribute(mark, "");
  }
  return [...seen.keys()].map((key) => looks.get(key));
}"""
"""Mark two of all elements that look alike: same letters, same backgrounds. Their contrast is the same.

Looks that are known have been judged on another page of this run. Returns what is marked, by look.
"""
BONES = """(element) => {
  const ofContent = ["href", "src", "srcset", "alt", "title", "value", "name", "action", "datetime"];
  const bones = (element) => {
    const kept = [...element.attributes].filter(
      ({ name }) => !ofContent.includes(name) && !name.startsWith("data-"));
    const attributes = kept.map(({ name, value }) => `${name}=${value}`);
    const named = ["alt", "title"].filter((name) => element.getAttribute(name)?.trim());
    const parts = [element.checkVisibility() ? "" : "hidden"];
    for (const node of element.childNodes) {
      if (node.nodeType === 3 && node.data.trim()) parts.push("text");
      if (node.nodeType === 1 && !node.matches("script, style, input[type=hidden]")) parts.push(bones(node));
    }
    const once = parts.filter((part, at) => part !== parts[at - 1]);
    return `<${element.localName} ${attributes.join(" ")} ${named.join(" ")}>${once.join("")}</>`;
  };
  return bones(element);
}"""
"""An element without its texts, addresses and values, and of neighbours that are alike only one: what the
rules of axe-core go by that don't look at colours."""
SKELETON = f"() => document.title.trim() ? ({BONES})(document.documentElement) : ''"
SHOWN = """() => {
  const all = [...document.querySelectorAll("body *")];
  window.shown = new Set(all.filter((one) => one.checkVisibility()));
  window.scrolls = ({ scrollWidth, clientWidth, scrollHeight, clientHeight }) =>
    scrollWidth > clientWidth || scrollHeight > clientHeight;
  window.scrolling = new Set(all.filter(window.scrolls));
}"""
CHANGED = """() => {
  const bones = BONES;
  const changed = [];
  const look = (element) => {
    const shown = element.checkVisibility();
    if (shown !== window.shown.has(element) && element !== document.body) {
      changed.push([shown, element.parentElement.localName, bones(element)]);
      return;
    }
    if (window.scrolls(element) && !window.scrolling.has(element)) {
      const { overflowX, overflowY } = getComputedStyle(element);
      if (/auto|scroll/.test(overflowX + overflowY)) changed.push(["scrolls", bones(element)]);
    }
    for (const child of element.children) look(child);
  };
  look(document.body);
  return [...new Set(changed.map((one) => JSON.stringify(one)))];
}""".replace("BONES", BONES)
"""Elements shown, hidden or scrolled in this size but not when ``SHOWN`` ran: nothing else differs for the
rules that don't look at colours."""
JUDGE = """async ([options, mark, contrast, links]) => {
  if (typeof axe === "undefined") {
    loadAxe();
    axe.configure({rules: [
      {id: contrast, selector: mark},
      {id: links, selector: `:is(a, [role=link]):is(${mark}, :has(${mark}))`}]});
  }
  const { url, violations } = await axe.run(document, options);
  return { url, violations };
}"""
_judged: set[str] = set()
_judged_pages: set[str] = set()
_judged_changes: set[str] = set()
"""Looks, skeletons, and changes between the sizes, in which axe-core found nothing in this run."""
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
    page, before = window.page, window.page.viewport_size
    page.emulate_media(color_scheme="light", reduced_motion="reduce")
    assert_no_violations(page, EVERYTHING, "light")
    page.evaluate(SHOWN)
    _look_on_narrow_screens(page)
    if before:
        page.set_viewport_size(PHONE if before["width"] >= DESKTOP["width"] else DESKTOP)
        _judge_the_other_size(page)
        page.set_viewport_size(before)
    page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    assert_no_violations(page, COLOURS, "dark")


def assert_accessible_in_both_schemes(page: Page, where: Page | Frame) -> None:
    """Every rule of axe-core in the light, and once more in the dark those that look at colours.

    They look at the page or at a frame in it.
    """
    page.emulate_media(color_scheme="light", reduced_motion="reduce")
    assert_no_violations(where, EVERYTHING, "light")
    page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    assert_no_violations(where, COLOURS, "dark")


def assert_no_violations(where: Page | Frame, rules: dict[str, Any], how: str) -> None:
    """Run these rules once over the page; those about colours at looks that are new in this run."""
    new: list[str] = []
    skeleton = where.evaluate(SKELETON) if rules is not COLOURS else ""
    if skeleton in _judged_pages:
        rules = NOTHING if rules is BUT_COLOURS else COLOURS
    if rules is not BUT_COLOURS:
        new = where.evaluate(MARK_LOOKS, [MARK, ALIKE, list(_judged)])
        if not new:
            rules = BUT_COLOURS if rules is EVERYTHING else NOTHING
    if rules is NOTHING:
        return
    options = {"resultTypes": ["violations"], "preload": False} | rules
    found = AxeResults(where.evaluate(JUDGE, [options, f"[{MARK}]", CONTRAST, LINKS]))
    assert found.violations_count == 0, f"{where.url}, {how}: {found.generate_report()}"
    _judged.update(new)
    if rules is not COLOURS and skeleton:
        _judged_pages.add(skeleton)


def _judge_the_other_size(page: Page) -> None:
    changed = set(page.evaluate(CHANGED))
    if changed - _judged_changes:
        assert_no_violations(page, EVERYTHING, "in the other size")
        _judged_changes.update(changed)
    else:
        assert_no_violations(page, COLOURS, "in the other size")


def assert_fits(window: Window) -> None:
    """No sideways scrolling on narrow screens, and everything to press is large enough there."""
    before = window.page.viewport_size
    _look_on_narrow_screens(window.page)
    if before:
        window.page.set_viewport_size(before)


def _look_on_narrow_screens(page: Page) -> None:
    for size in NARROW:
        page.set_viewport_size(size)
        found = page.evaluate(f"(given) => [({TOO_WIDE})(), ({SMALL_TARGETS})(given)]", [PRESSED, TARGET])
        assert found == [[], []], f"{page.url} at {size['width']} px: {found}"
