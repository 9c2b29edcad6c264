"""The menu of a study: eight entries in one row on a desk, and the pages of the current entry below."""

from __future__ import annotations

import re

import pytest
from django.utils import timezone
from playwright.sync_api import Locator, ViewportSize, expect

from accounts.models import User
from annotation import actions
from annotation.models import Membership, Study
from tests import builders
from tests.browser.checks import assert_good
from tests.browser.conftest import PASSWORD, OpenWindow
from tests.browser.pages import sign_in
from tests.browser.windows import DESKTOP, PHONE, Window

pytestmark = pytest.mark.browser

ENTRIES = ["Overview", "Stories", "People", "Recruitment", "Qualification", "Quality", "Releases", "Settings"]
PAGES = {
    "Overview": [],
    "Stories": ["Stories", "Import"],
    "People": [],
    "Recruitment": ["Campaigns", "Join link", "Payments", "Mismatches"],
    "Qualification": [],
    "Quality": ["Agreement", "Hidden checks", "Review", "Decisions", "Skipped stories", "Filters"],
    "Releases": ["Releases", "Publish", "Compare", "Data statement"],
    "Settings": ["Settings", "Instructions", "Members", "Alerts", "Log", "Configuration", "API tokens"],
}
WITHOUT: dict[str, set[str]] = {
    Membership.Role.OWNER: set(),
    Membership.Role.REVIEWER: {"Publish", "Log", "Configuration"},
    Membership.Role.AUDITOR: {"Publish", "Configuration"},
}
"""Pages that a role may not open."""


def at(window: Window, role: str) -> Locator:
    """The menu of a study, signed in as somebody with this role in it."""
    study = Study.objects.filter(slug="main").first() or builders.make_study("main", stories=1)
    user = User.objects.create_user("rea", password=PASSWORD)
    actions.set_role(study=study, user=user, role=role, by=None, now=timezone.now())
    sign_in(window, ("rea", PASSWORD))
    window.page.goto("/studies/main/")
    return window.page.locator(".menu")


def rows(menu: Locator) -> int:
    """In how many rows everything stands that can be pressed."""
    tops = menu.locator("a:visible, summary:visible").evaluate_all(
        "all => all.map((one) => Math.round(one.getBoundingClientRect().bottom))"
    )
    return len(set(tops))


@pytest.mark.parametrize("role", WITHOUT)
def test_a_desk_shows_the_entries_in_one_row_and_the_pages_of_one_below(
    open_window: OpenWindow, role: str
) -> None:
    window = open_window(viewport=DESKTOP, java_script_enabled=False)
    menu = at(window, role)
    links = menu.get_by_role("link")
    assert rows(menu) == 1
    for entry, pages in PAGES.items():
        links.get_by_text(entry, exact=True).first.click()
        title = (pages or [entry])[0]
        expect(window.heading).to_have_text(title)
        assert window.page.title().split(" · ")[0].strip() == title
        below = [page for page in pages if page not in WITHOUT[role]]
        assert links.all_inner_texts() == ENTRIES + below
        assert menu.locator("[aria-current=page]").all_inner_texts() == [entry, *below[:1]]
        assert rows(menu) == (2 if below else 1)
        if role != Membership.Role.OWNER:
            continue  # the pages are the same, and dashboard.test_roles opens each as every role
        for number, page in enumerate(below[1:], start=len(ENTRIES) + 1):
            if page == "API tokens":
                continue  # the researcher's own, without the menu of a study
            links.nth(number).focus()
            window.page.keyboard.press("Enter")
            expect(window.heading).to_have_text(page)
            assert window.page.title().split(" · ")[0].strip() == page
            expect(menu.locator("[aria-current=page]")).to_have_text(page)
            expect(menu.locator("[aria-current=true]")).to_have_text(entry)


def test_a_phone_shows_the_entries_after_a_press(open_window: OpenWindow) -> None:
    window = open_window(viewport=PHONE, java_script_enabled=False)
    menu = at(window, Membership.Role.AUDITOR)
    expect(menu.get_by_role("link")).to_have_count(0)
    menu.get_by_text("Pages of this study").click()
    assert menu.get_by_role("link").all_inner_texts() == ENTRIES
    menu.get_by_role("link", name="Releases").click()
    menu.get_by_role("link", name="Data statement").click()
    expect(window.heading).to_have_text("Data statement")
    expect(menu.locator("summary:visible")).to_have_text(re.compile(r"Pages of this study\s+· Releases"))


@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desk", "phone"])
def test_a_page_below_one_of_the_menu_leads_back_to_it(
    open_window: OpenWindow, viewport: ViewportSize
) -> None:
    window = open_window(viewport=viewport, java_script_enabled=False)
    at(window, Membership.Role.OWNER)
    expect(window.page.locator("[rel=up]")).to_have_count(0)
    for path, title in (("people/invite", "People"), ("recruitment/new/prolific/test", "Campaigns")):
        window.page.goto(f"/studies/main/{path}/")
        expect(window.heading).not_to_have_text(title)
        window.page.locator("[rel=up]").click()
        expect(window.heading).to_have_text(title)


def test_the_skip_link_goes_past_the_menu(open_window: OpenWindow) -> None:
    window = open_window(viewport=DESKTOP)
    at(window, Membership.Role.OWNER)
    window.page.goto("/studies/main/people/")
    for key in ("Tab", "Enter", "Tab"):
        window.page.keyboard.press(key)
    expect(window.page.locator("#main :focus")).to_have_text("Invite participants")


def test_longer_words_fit_into_the_row_too(open_window: OpenWindow) -> None:
    window = open_window(viewport=DESKTOP)
    menu = at(window, Membership.Role.OWNER)
    window.page.set_extra_http_headers({"Accept-Language": "de"})
    window.page.reload()
    expect(menu.get_by_role("link", name="Veröffentlichungen")).to_be_visible()
    assert rows(menu) == 1
    window.page.goto("/studies/main/recruitment/join-link/")
    assert rows(menu) == 2
    assert_good(window)
