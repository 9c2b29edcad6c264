"""Your account on a phone: a second factor is set up and asked for, and every page of it is good."""

from __future__ import annotations

import time
from typing import Any

import pytest
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value
from django.urls import reverse
from playwright.sync_api import Locator, expect

from tests.browser.conftest import OpenWindow
from tests.browser.pages import look_at
from tests.browser.windows import Window

pytestmark = pytest.mark.browser


def seen(window: Window, leads_there: Locator, heading: str) -> None:
    """Press what leads to a page, and judge the page."""
    leads_there.click()
    expect(window.heading).to_have_text(heading)
    look_at(window)


def test_a_second_factor_is_set_up_and_asked_for(
    open_window: OpenWindow, researcher: tuple[str, str], settings: Any
) -> None:
    settings.MFA_TOTP_TOLERANCE = 1  # half a minute may end in the middle of a test
    window = open_window()
    page = window.page
    page.goto(reverse("accounts:sign_in"))
    page.get_by_label("Username").fill(researcher[0])
    page.get_by_label("Password").fill(researcher[1])
    window.button("Sign in").click()
    page.wait_for_url(f"**{reverse('dashboard:studies')}")
    page.get_by_role("link", name=researcher[0]).click()
    seen(window, page.get_by_role("link", name="Second factor"), "Second factor")
    seen(window, page.get_by_role("link", name="Set up a second factor"), "Confirm that it’s you")
    page.get_by_label("Password").fill(researcher[1])
    seen(window, window.button("Continue"), "Set up a second factor")
    key = page.locator("code.secret").inner_text()
    page.get_by_label("code").fill(format_hotp_value(hotp_value(key, int(time.time()) // 30)))
    seen(window, window.button("Set it up"), "Recovery codes")
    recovery, *others = page.locator("#recovery-codes").inner_text().split("\n")  # what the button copies
    assert len(others) == 9
    seen(window, page.get_by_role("link", name="E-mail address"), "E-mail address")
    seen(window, page.get_by_role("link", name="Sessions"), "Sessions")
    window.button("Sign out").click()
    page.goto(reverse("accounts:sign_in"))
    page.get_by_label("Username").fill(researcher[0])
    page.get_by_label("Password").fill(researcher[1])
    seen(window, window.button("Sign in"), "Enter a code")
    page.get_by_label("Code").fill(recovery)
    window.button("Sign in").click()
    page.wait_for_url(f"**{reverse('dashboard:studies')}")
