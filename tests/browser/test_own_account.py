"""Somebody signs in by the page, and every page of an account is good, with and without a second factor."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value
from django.test import Client
from django.urls import reverse
from playwright.sync_api import expect

from tests.browser.pages import client_of, look_at, show
from tests.browser.windows import Window

pytestmark = pytest.mark.browser


def test_somebody_signs_in_and_out_by_the_page(window: Window, researcher: tuple[str, str]) -> None:
    page = window.page
    page.goto(reverse("accounts:sign_in"))
    page.get_by_label("Username").fill(researcher[0])
    page.get_by_label("Password").fill(researcher[1])
    window.button("Sign in").click()
    page.wait_for_url(f"**{reverse('dashboard:studies')}")
    window.button("Sign out").click()
    expect(window.heading).to_have_text("Which stories hold up?")


def test_the_pages_of_an_account_are_good(window: Window, researcher: tuple[str, str], settings: Any) -> None:
    settings.MFA_TOTP_TOLERANCE = 1  # half a minute may end in the middle of a test
    client = client_of(researcher[0])
    activate, confirm = reverse("mfa_activate_totp"), reverse("account_reauthenticate")
    window.page.goto("/")

    def seen(response: Any, heading: str) -> str:
        page: str = response.content.decode()
        show(window, page)
        expect(window.heading).to_have_text(heading)
        look_at(window, name=heading)
        return page

    seen(client.get(reverse("accounts:password")), "Change your password")
    seen(client.get(activate, follow=True), "Confirm that it’s you")
    client.post(confirm, {"password": researcher[1]})
    found = re.search(
        r'<code class="secret">(\w+)</code>', seen(client.get(activate), "Set up a second factor")
    )
    assert found
    code = format_hotp_value(hotp_value(found[1], int(time.time()) // 30))
    seen(client.post(activate, {"code": code}, follow=True), "Recovery codes")
    seen(client.get(reverse("mfa_index")), "Second factor")
    seen(client.get(reverse("account_email")), "E-mail address")
    seen(client.get(reverse("usersessions_list")), "Sessions")
    form = dict(zip(("username", "password"), researcher, strict=True))
    seen(Client().post(reverse("accounts:sign_in"), form, follow=True), "Enter a code")
