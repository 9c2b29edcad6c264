"""The menu of a study's pages: one row on a desk, everything at most two presses away, for every role."""

from __future__ import annotations

import re

import pytest
from django.utils import timezone
from playwright.sync_api import Locator, expect

from accounts.models import User
from annotation import actions
from annotation.models import Membership, Study
from tests import builders
from tests.browser.checks import assert_good
from tests.browser.conftest import PASSWORD, OpenWindow
from tests.browser.pages import sign_in
from tests.browser.windows import DESKTOP, PHONE, Window

pytestmark = pytest.mark.browser

LOOKING = [
    "Overview",
    "Set-up",
    "Stories",
    "Qualification",
    "Recruitment",
    "People",
    "Quality",
    "Review",
    "Releases",
    "Hidden checks",
    "Members",
    "Join link and codes",
    "Filters",
    "Data statement",
]
ROLES = {
    Membership.Role.OWNER: [*LOOKING, "Log"],
    Membership.Role.REVIEWER: LOOKING,
    Membership.Role.AUDITOR: [*LOOKING, "Log"],
}


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


@pytest.mark.parametrize(("role", "labels"), ROLES.items(), ids=ROLES)
def test_a_desk_shows_one_row_and_the_rest_after_a_press(
    open_window: OpenWindow, role: str, labels: list[str]
) -> None:
    window = open_window(viewport=DESKTOP, java_script_enabled=False)
    menu = at(window, role)
    assert rows(menu) == 1
    menu.get_by_text("More").focus()
    window.page.keyboard.press("Enter")
    assert rows(menu) == 2
    assert menu.get_by_role("link").all_inner_texts() == labels
    window.page.keyboard.press("Tab")
    expect(menu.get_by_role("link", name="Hidden checks")).to_be_focused()
    window.page.keyboard.press("Enter")
    expect(window.heading).to_have_text("Hidden checks")
    expect(menu.locator(".menu__more b")).to_have_text("More")
    assert rows(menu) == 1


@pytest.mark.parametrize(("role", "labels"), ROLES.items(), ids=ROLES)
def test_a_phone_shows_everything_after_a_press(
    open_window: OpenWindow, role: str, labels: list[str]
) -> None:
    window = open_window(viewport=PHONE, java_script_enabled=False)
    menu = at(window, role)
    expect(menu.get_by_role("link")).to_have_count(0)
    menu.get_by_text("Pages of this study").click()
    assert menu.get_by_role("link").all_inner_texts() == labels
    menu.get_by_role("link", name="Data statement").click()
    expect(window.heading).to_have_text("What you state about your data")
    expect(menu.locator("summary:visible")).to_have_text(
        re.compile(r"Pages of this study\s+· Data statement")
    )


def test_longer_words_fit_into_the_row_too(open_window: OpenWindow) -> None:
    window = open_window(viewport=DESKTOP)
    menu = at(window, Membership.Role.OWNER)
    window.page.set_extra_http_headers({"Accept-Language": "de"})
    window.page.reload()
    expect(menu.get_by_role("link", name="Veröffentlichungen")).to_be_visible()
    assert rows(menu) == 1
    window.page.goto("/studies/main/joining/")
    assert rows(menu) == 1
    menu.get_by_text("Mehr").click()
    assert_good(window)
