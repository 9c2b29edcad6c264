"""The charts in a browser: drawn under the security policy, in the page's colours, and saved."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from django.urls import reverse
from playwright.sync_api import Locator, expect

from dashboard.charts.catalogue import CHARTS
from tests.browser.checks import assert_good
from tests.browser.conftest import OpenWindow
from tests.browser.pages import sign_in
from tests.browser.windows import DESKTOP, PHONE, Window
from tests.dashboard.quality.test_quality_page import looked_at

pytestmark = pytest.mark.browser

SVG = "{http://www.w3.org/2000/svg}"


def figure(window: Window, name: str) -> Locator:
    return window.page.locator(f"figure[id^='{name}-']")


def saved(window: Window, press: Locator) -> bytes:
    with window.page.expect_download() as download:
        press.click()
    return Path(download.value.path()).read_bytes()


def colour_of_text(chart: Locator) -> str | None:
    return chart.locator("svg .role-axis-label text").first.get_attribute("fill")


def assert_table_is_what_is_drawn(window: Window, chart: Locator) -> None:
    """As many rows in the table as in the drawing's data, and their names in both."""
    spec = json.loads(chart.locator("script").text_content() or "")
    values = spec["data"]["values"]
    heads = chart.locator("tbody th").all_text_contents()
    assert len(heads) == len(values)
    if "name" in values[0]:
        assert heads == [value["name"] for value in values]
    expect(chart.locator("[data-drawing]")).to_have_attribute("aria-label", spec["description"])


def test_charts_are_drawn_under_the_policy_accessible_and_follow_the_colours_and_are_saved(
    open_window: OpenWindow, researcher: tuple[str, str]
) -> None:
    study = looked_at()
    window = open_window(viewport=DESKTOP, accept_downloads=True)
    sign_in(window, researcher)
    for page in ("overview", "filters", "quality"):
        window.page.goto(reverse(f"dashboard:{page}", args=[study.slug]))
        for name in (name for name, entry in CHARTS.items() if entry.page == page):
            chart = figure(window, name)
            expect(chart.get_by_role("button", name="PNG")).to_be_visible()
            expect(chart.locator("svg .role-mark").first).to_be_attached()
            assert_table_is_what_is_drawn(window, chart)
        if page != "overview":
            assert_good(window)

    window.page.emulate_media(color_scheme="light")
    chart = figure(window, "kept-by-generator")
    assert chart.locator("svg .mark-symbol.role-mark path").count() == 2, "a dot for each model"
    drawn = saved(window, chart.get_by_role("button", name="SVG"))
    svg = ElementTree.fromstring(drawn)  # noqa: S314 - our own
    texts = ["".join(text.itertext()) for text in svg.iter(f"{SVG}text")]
    assert {"Kept, by generator model", "=model-a", "model-b", "100%"} <= set(texts)
    picture = saved(window, chart.get_by_role("button", name="PNG"))
    assert picture.startswith(b"\x89PNG")
    assert int.from_bytes(picture[16:20], "big") == 2 * int(svg.attrib["width"])
    rows = csv.DictReader(io.StringIO(saved(window, chart.get_by_role("link", name="CSV")).decode()))
    assert {row["name"]: row["kept"] for row in rows} == {"'=model-a": "4", "model-b": "12"}

    light = colour_of_text(chart)
    window.page.emulate_media(color_scheme="dark")
    expect(chart.locator("svg .role-axis-label text").first).not_to_have_attribute("fill", light or "")
    assert window.complaints == [], "nothing was against the policy"
    assert window.foreign_requests() == []


def test_new_figures_leave_an_open_table(open_window: OpenWindow, researcher: tuple[str, str]) -> None:
    study = looked_at()
    window = open_window(viewport=PHONE)
    sign_in(window, researcher)
    address = reverse("dashboard:overview", args=[study.slug])
    window.page.goto(address)
    verdicts = figure(window, "verdicts")
    verdicts.locator("summary").click()
    swap = f"() => htmx.ajax('GET', '{address}', {{target: '#now', swap: 'outerHTML'}})"
    window.page.evaluate(swap)
    expect(verdicts.locator("table")).to_be_visible()
    expect(verdicts.locator("svg")).to_have_count(1)
    window.page.evaluate(
        "() => document.querySelectorAll('figure.plot').forEach((figure) => figure.remove())"
    )
    window.page.evaluate(swap)
    expect(verdicts.locator("svg .role-mark").first).to_be_attached()
    assert window.complaints == []


def test_without_javascript_there_are_the_table_and_its_file(
    open_window: OpenWindow, researcher: tuple[str, str]
) -> None:
    study = looked_at()
    window = open_window(viewport=PHONE, java_script_enabled=False)
    sign_in(window, researcher)
    window.page.goto(reverse("dashboard:quality", args=[study.slug]))
    chart = figure(window, "kept-by-generator")
    chart.locator("summary").click()
    expect(chart.get_by_role("rowheader", name="=model-a")).to_be_visible()
    expect(chart.get_by_role("button")).to_have_count(0)
    expect(chart.locator("[data-drawing]")).to_be_hidden()
    expect(chart.get_by_role("link", name="CSV")).to_be_visible()
