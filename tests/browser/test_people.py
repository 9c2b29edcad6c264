"""Inviting a colleague, coming in by the link, and reading the log, in a real browser at both widths."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from annotation.models import Study
from tests import builders
from tests.browser.checks import assert_good
from tests.browser.conftest import OpenWindow
from tests.browser.pages import sign_in
from tests.browser.windows import SIZES

if TYPE_CHECKING:
    from playwright.sync_api import ViewportSize


@pytest.mark.parametrize("size", SIZES)
def test_a_colleague_comes_by_an_invitation(
    open_window: OpenWindow, researcher: tuple[str, str], study: Study, size: ViewportSize, settings: Any
) -> None:
    settings.SENDS_MAIL = False
    builders.vote(builders.qualified(study)[0])
    desk = open_window(viewport=size)
    sign_in(desk, researcher)
    desk.page.goto(reverse("dashboard:members", args=[study.slug]))
    desk.page.get_by_label("E-mail address").fill("bob@example.org")
    desk.page.get_by_label("Role", exact=True).select_option("auditor")
    desk.page.get_by_role("button", name="Invite", exact=True).click()
    link = urlsplit(desk.page.get_by_label("Link of the invitation").input_value()).path
    assert_good(desk)

    bob = open_window(viewport=size)
    bob.page.goto(link)
    expect(bob.heading).to_have_text("You are invited")
    assert_good(bob)
    bob.page.get_by_label("Username").fill("bob")
    bob.page.get_by_label("Password", exact=True).fill("seven wet otters")
    bob.page.get_by_label("Password confirmation").fill("seven wet otters")
    bob.page.get_by_role("button", name="Create an account and accept").click()
    bob.page.wait_for_url(f"**{reverse('dashboard:overview', args=[study.slug])}")

    bob.page.goto(reverse("dashboard:settings", args=[study.slug]))
    bob.page.get_by_role("link", name="Log", exact=True).click()
    expect(bob.page.get_by_role("row", name="Invitation accepted")).to_be_visible()
    bob.page.get_by_text("Choose events").click()
    bob.page.get_by_label("Event", exact=True).select_option("vote_submitted")
    bob.page.get_by_role("button", name="Apply").click()
    expect(bob.page.locator("tbody tr > th")).to_have_text(["Vote submitted"])
    assert_good(bob)

    desk.page.reload()
    desk.page.get_by_label("Role of bob").select_option("owner")
    desk.page.get_by_role("button", name="Change the role").click()
    expect(desk.page.get_by_text("bob is owner now.")).to_be_visible()
    desk.page.goto(link)
    expect(desk.heading).to_have_text("This invitation was already used")
    assert_good(desk)
