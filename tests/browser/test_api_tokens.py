"""Making an API token in a real browser, using it, and revoking it."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse
from playwright.sync_api import expect

from annotation.models import Study
from tests.browser.checks import assert_good
from tests.browser.conftest import OpenWindow
from tests.browser.pages import sign_in

pytestmark = pytest.mark.browser


def test_a_token_is_made_copied_used_and_revoked(
    open_window: OpenWindow, researcher: tuple[str, str], study: Study
) -> None:
    window = open_window()
    sign_in(window, researcher)
    window.page.goto(reverse("dashboard:studies"))
    window.page.get_by_role("link", name="API tokens").click()
    expect(window.heading).to_have_text("API tokens")
    window.page.get_by_label("Name", exact=True).fill("nightly export")
    window.button("Create the token").click()
    window.page.get_by_label("Password").fill(researcher[1])
    window.button("Continue").click()
    expect(window.page.get_by_role("alert")).to_be_visible()
    window.page.get_by_label("Study", exact=True).select_option(study.slug)
    window.page.get_by_text("export votes, under pseudonyms (votes:read)").click()
    window.button("Create the token").click()
    secret = window.page.locator("#shown-once").inner_text()
    program = Client(headers={"Authorization": f"Bearer {secret}"})
    assert program.get("/api/v1/token/").json()["scopes"] == ["votes:read"]
    assert_good(window)
    window.page.goto(reverse("dashboard:api_tokens"))
    expect(window.page.locator("#shown-once")).to_have_count(0)
    window.button("Revoke nightly export").click()
    expect(window.page.get_by_text("no longer works")).to_be_visible()
    assert program.get("/api/v1/token/").status_code == 401
