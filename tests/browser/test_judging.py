"""``assert_good`` remembers what it judged good, and still finds one defect on a page like such a page."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

import pytest

from tests.browser.checks import assert_good
from tests.browser.windows import Window

if TYPE_CHECKING:
    from playwright.sync_api import Route

pytestmark = pytest.mark.browser

PAGE = """<!doctype html><html lang="en"><title>Page</title>
<meta name="viewport" content="width=device-width">
<style>
  :root { color-scheme: light dark; --ink: #222; --paper: #fff; }
  @media (prefers-color-scheme: dark) { :root { --ink: #eee; --paper: #111; } }
  body { color: var(--ink); background: var(--paper); }
  a { color: var(--ink); }
  .desk { display: none; }
  @media (width >= 60rem) { .desk { display: block; } }
  DEFECT OF STYLE
</style>
<main><h1>Heading</h1><p class="one">Some words and <a href="/">a link</a> among them.</p>
<form><label>Name <input></label></form><p class="desk">For desks.</p>DEFECT</main></html>"""
STYLES = {
    "faint in the light": "@media (prefers-color-scheme: light) { .one { color: #bbb; } }",
    "faint in the dark": "@media (prefers-color-scheme: dark) { .one { color: #333; } }",
    "faint on a desk": "@media (width >= 60rem) { .one { color: #bbb; background: #fff; } }",
    "faint link": "a { color: #bbb; }",
    "link much like the words": "a { text-decoration: none; color: #555; }",
    "too wide": "h1 { inline-size: 500px; }",
}
DEFECTS = {
    "image without a text": "<img src='/x.png'>",
    "field without a name": "<input>",
    "field without a name on a desk": "<p class='desk'><input></p>",
    "small button": "<button style='block-size: 20px'>Press</button>",
}


QUICK = ("faint in the dark", "faint on a desk", "too wide", "field without a name on a desk")
"""One defect for each part of ``assert_good``; the others are for ``make torture``."""


@pytest.mark.parametrize(
    "names",
    [QUICK, pytest.param({*STYLES, *DEFECTS}.difference(QUICK), marks=pytest.mark.torture)],
    ids=["one of each part", "the others"],
)
def test_a_defect_is_found_on_a_page_whose_like_was_good(window: Window, names: Collection[str]) -> None:
    shown = {"body": page_with()}

    def serve(route: Route) -> None:
        route.fulfill(content_type="text/html", body=shown["body"])

    window.page.route("**/judged/", serve)
    window.page.goto("/judged/")
    assert_good(window)
    for name in names:
        shown["body"] = page_with(style=STYLES.get(name, ""), element=DEFECTS.get(name, ""))
        is_bad(window, name)


def page_with(*, style: str = "", element: str = "") -> str:
    return PAGE.replace("DEFECT OF STYLE", style).replace("DEFECT", element)


def is_bad(window: Window, name: str) -> None:
    window.page.reload()
    try:
        assert_good(window)
    except AssertionError:
        return
    pytest.fail(f"Not found: {name}")
