"""The menu of a study: eight entries in one row on a desk, and the pages of the current entry below."""

from __future__ import annotations

import re

import pytest
from django.utils import timezone
from playwright.sync_api import Locator, expect

from accounts.models import User
from annotation import actions
from annotation.models import Membership, Study
from tests import builders
from tests.browser.conftest import PASSWORD, OpenWindow
from tests.browser.pages import sign_in
from tests.browser.windows import DESKTOP, PHONE, Window

pytestmark = pytest.mark.browser

ENTRIES = ["Overview", "Stories", "People", "Recruitment", "Qualification", "Quality", "Releases", "Settings"]


def at(window: Window, role: str, page: str = "") -> Locator:
    """The menu of a study, signed in as somebody with this role in it."""
    study = Study.objects.filter(slug="main").first() or builders.make_study("main", stories=1)
    user = User.objects.create_user("rea", password=PASSWORD)
    actions.set_role(study=study, user=user, role=role, by=None, now=timezone.now())
    sign_in(window, ("rea", PASSWORD))
    window.page.goto(f"/studies/main/{page}")
    return window.page.locator(".menu")


def rows(menu: Locator) -> int:
    """In how many rows everything stands that can be pressed."""
    tops = menu.locator("a:visible, summary:visible").evaluate_all(
        "all => all.map((one) => Math.round(one.getBoundingClientRect().bottom))"
    )
    return len(set(tops))


def test_a_desk_shows_the_entries_in_one_row_and_the_pages_of_one_below(open_window: OpenWindow) -> None:
    window = open_window(viewport=DESKTOP, java_script_enabled=False)
    menu = at(window, Membership.Role.OWNER)
    links = menu.get_by_role("link")
    assert rows(menu) == 1
    for entry in ("Quality", "Settings"):  # with the longest rows of pages
        links.get_by_text(entry, exact=True).first.click()
        expect(menu.locator("[aria-current=page]").first).to_have_text(entry)
        assert links.all_inner_texts()[: len(ENTRIES)] == ENTRIES
        assert rows(menu) == 2
    window.page.set_extra_http_headers({"Accept-Language": "de"})
    window.page.goto("/studies/main/recruitment/join-link/")
    expect(menu.get_by_role("link", name="Veröffentlichungen")).to_be_visible()
    assert rows(menu) == 2, "longer words fit, too"


def test_the_skip_link_goes_past_the_menu(open_window: OpenWindow) -> None:
    window = open_window(viewport=DESKTOP)
    at(window, Membership.Role.OWNER, "people/")
    for key in ("Tab", "Enter", "Tab"):
        window.page.keyboard.press(key)
    expect(window.page.locator("#main :focus")).to_have_text("Invite participants")


def test_a_phone_shows_the_entries_after_a_press(open_window: OpenWindow) -> None:
    window = open_window(viewport=PHONE, java_script_enabled=False)
    menu = at(window, Membership.Role.OWNER)
    expect(menu.get_by_role("link")).to_have_count(0)
    menu.get_by_text("Pages of this study").click()
    assert menu.get_by_role("link").all_inner_texts() == ENTRIES
    menu.get_by_role("link", name="Releases").click()
    menu.get_by_role("link", name="Data statement").click()
    expect(window.heading).to_have_text("Data statement")
    expect(menu.locator("summary:visible")).to_have_text(re.compile(r"Pages of this study\s+· Releases"))
    window.page.goto("/studies/main/people/invite/")
    window.page.locator("[rel=up]").click()
    expect(window.heading).to_have_text("People")
