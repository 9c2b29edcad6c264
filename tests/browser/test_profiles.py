"""Nothing of one test's window is in the next one's."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.profiles import Profiles

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

STORE = """() => {
  document.cookie = "left=cookie; path=/";
  localStorage.setItem("left", "behind");
  sessionStorage.setItem("left", "behind");
  return new Promise((done) => { indexedDB.open("left").onsuccess = done; }).then(() => null);
}"""
FOUND = """async () => [
  document.cookie, localStorage.length, sessionStorage.length, (await indexedDB.databases()).length,
  navigator.onLine, matchMedia("(prefers-color-scheme: dark)").matches,
]"""
NOTHING = ["", 0, 0, 0, True, False]


def test_a_profile_that_is_taken_again_is_empty(profiles: Profiles) -> None:
    options: dict[str, Any] = {"base_url": profiles.site, "locale": "pt"}
    first = profiles.take(**options)
    page = first.new_page()
    page.goto("/")
    assert page.evaluate(FOUND) == NOTHING
    page.evaluate(STORE)
    page.emulate_media(color_scheme="dark")
    first.set_offline(True)
    left = page.evaluate(FOUND)
    assert [one for one, none in zip(left, NOTHING, strict=True) if one == none] == []

    profiles.clean_up()

    again = profiles.take(**options)
    assert again is first
    page = again.new_page()
    page.goto("/")
    assert page.evaluate(FOUND) == NOTHING
