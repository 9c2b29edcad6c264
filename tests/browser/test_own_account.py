"""Your account on a phone and on a desktop: a second factor is set up and asked for, an address, sessions."""

from __future__ import annotations

import os
import time

import pytest
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value
from django.urls import reverse
from playwright.sync_api import expect

from tests.browser.checks import assert_good
from tests.browser.conftest import OpenWindow
from tests.browser.pages import sign_in
from tests.browser.windows import DESKTOP, PHONE, Window

pytestmark = pytest.mark.browser


def look(window: Window, name: str) -> None:
    """Judge the page on a phone and on a desktop."""
    for size in (DESKTOP, PHONE):
        window.page.set_viewport_size(size)
        assert_good(window)
        if where := os.environ.get("LOOK"):
            window.page.screenshot(path=f"{where}/{name}-{size['width']}.png", full_page=True)


def code_of(key: str) -> str:
    return format_hotp_value(hotp_value(key, int(time.time()) // 30))


def test_a_second_factor_is_set_up_and_asked_for(
    open_window: OpenWindow, researcher: tuple[str, str]
) -> None:
    window = open_window()
    sign_in(window, researcher)
    window.page.goto(reverse("accounts:password"))
    look(window, "password")
    window.page.get_by_role("link", name="Second factor").click()
    look(window, "off")
    window.page.get_by_role("link", name="Set up a second factor").click()
    expect(window.heading).to_have_text("Is it you?")
    look(window, "confirm")
    window.page.get_by_label("Password").fill(researcher[1])
    window.button("Continue").click()
    expect(window.heading).to_have_text("Set up a second factor")
    look(window, "set-up")
    key = window.page.locator("code.secret").inner_text()
    window.page.get_by_label("code").fill(code_of(key))
    window.button("Set it up").click()
    expect(window.heading).to_have_text("Recovery codes")
    look(window, "codes")
    recovery = window.page.locator(".list code").first.inner_text()
    window.page.get_by_role("link", name="Second factor").click()
    look(window, "on")
    window.page.get_by_role("link", name="E-mail address").click()
    look(window, "address")
    window.page.get_by_role("link", name="Sessions").click()
    look(window, "sessions")
    window.button("Sign out").click()
    window.page.goto(reverse("accounts:sign_in"))
    look(window, "sign-in")
    window.page.get_by_label("Username").fill(researcher[0])
    window.page.get_by_label("Password").fill(researcher[1])
    window.page.locator("form [type=submit]").first.click()
    expect(window.heading).to_have_text("Enter a code")
    look(window, "code")
    window.page.get_by_label("Code").fill("000000")
    window.button("Sign in").click()
    expect(window.page.get_by_text("Incorrect code")).to_be_visible()
    look(window, "wrong-code")
    window.page.get_by_label("Code").fill(recovery)
    window.button("Sign in").click()
    window.page.wait_for_url(f"**{reverse('dashboard:studies')}")


def test_the_page_for_a_forgotten_password_is_in_sight(open_window: OpenWindow) -> None:
    window = open_window()
    window.page.goto(reverse("accounts:sign_in"))
    window.page.get_by_role("link", name="Forgotten password?").click()
    expect(window.heading).to_have_text("Forgotten password")
    look(window, "forgotten")
