"""Coming by one's link again, and the completion code: with and without JavaScript, on phone and desk."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Locator, expect

from accounts.models import PlatformIdentity
from annotation import actions as annotation_actions
from annotation.models import Enrollment, Study
from recruitment import actions
from recruitment.codes import CompletionOutcome, completion_code
from recruitment.links import confirming_link, personal_link, visit_path
from tests import builders
from tests.browser.checks import assert_good
from tests.browser.conftest import OpenWindow, path_of
from tests.browser.pages import sign_in
from tests.browser.windows import SIZES, Window, stories_path

if TYPE_CHECKING:
    from playwright.sync_api import ViewportSize

pytestmark = pytest.mark.browser
by_size = pytest.mark.parametrize("size", SIZES)


def work(person: Enrollment, page: str = "") -> str:
    return visit_path(actions.arrive_by_link(enrollment=person, now=timezone.now())) + page


def with_join_link(study: Study) -> Study:
    actions.set_join_link(
        study=study, return_url="https://app.example.org/done?cc={code}", by=None, now=timezone.now()
    )
    return study


@by_size
def test_asking_for_ones_link(open_window: OpenWindow, study: Study, size: ViewportSize) -> None:
    window = open_window(viewport=size)
    window.page.goto("/")
    window.page.get_by_role("link", name="Send me my link again").click()
    address = window.page.get_by_label("E-mail address")
    address.evaluate("(input) => (input.type = 'text')")
    address.fill("nobody at example.org")
    window.button("Send my link").click()
    expect(address).to_have_accessible_description("This is not an e-mail address.")
    expect(address).to_be_focused()
    assert_good(window)

    address.fill("nobody@example.org")
    address.press("Enter")
    expect(window.heading).to_have_text("Check your inbox")
    assert_good(window)


@by_size
def test_giving_and_confirming_an_address(
    open_window: OpenWindow, person: Enrollment, size: ViewportSize
) -> None:
    window = open_window(viewport=size)
    window.page.goto(work(person, "you/"))
    window.page.get_by_role("link", name="Get your link by e-mail").click()
    window.page.get_by_label("E-mail address").fill("ada@example.org")
    window.button("Save the address").click()
    expect(window.page.get_by_text("not confirmed yet", exact=True)).to_be_visible()
    assert_good(window)

    link = confirming_link(PlatformIdentity.objects.get()).removeprefix("http://testserver")
    window.page.goto(link)
    expect(window.heading).to_have_text("Is this your address?")
    assert_good(window)
    window.button("Yes, it is mine").click()
    expect(window.heading).to_have_text("Your address is confirmed")
    assert_good(window)


@pytest.mark.usefixtures("one_moment")
def test_links_that_open_nothing(window: Window, person: Enrollment) -> None:
    address = path_of(person)
    annotation_actions.revoke_link(enrollment=person, by=None, now=timezone.now())
    look_at(window, address, "This link has been replaced")
    look_at(window, f"/join/{with_join_link(person.study).slug}/", "We cannot see who you are")
    for _ in range(31):
        Client().get("/join/1.x/")
    look_at(window, "/join/1.x/", "Please wait a moment")
    annotation_actions.forget(annotator=person.annotator, now=timezone.now())
    look_at(window, address, "Your personal data has been deleted")


def look_at(window: Window, address: str, heading: str) -> None:
    window.page.goto(address)
    expect(window.heading).to_have_text(heading)
    assert_good(window)


@by_size
@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no-scripts"])
def test_the_completion_code(
    open_window: OpenWindow, person: Enrollment, size: ViewportSize, scripts: bool
) -> None:
    with_join_link(person.study)
    builders.vote(person)
    window = open_window(
        viewport=size, java_script_enabled=scripts, permissions=["clipboard-read", "clipboard-write"]
    )
    window.page.goto(work(person, "done/"))
    finish = window.link("Finish and get my code")
    assert_above_the_fold(finish, size)
    window.follow(finish)
    code = completion_code(person.study.pseudonym_key, person.pk, CompletionOutcome.COMPLETED)
    shown = window.page.get_by_text(code, exact=True)
    expect(shown).to_be_visible()
    back = window.page.get_by_role("link", name="Back to the site that sent you")
    assert_above_the_fold(back, size)
    expect(back).to_have_attribute("href", f"https://app.example.org/done?cc={code}")
    copy = window.page.get_by_role("button", name="Copy the code")
    if not scripts:
        expect(copy).to_be_hidden()
        expect(shown).to_have_css("user-select", "all")
        return
    copy.click()
    expect(window.page.get_by_role("button", name="Copied")).to_be_visible()
    assert window.page.evaluate("() => navigator.clipboard.readText()") == code
    assert_good(window)
    expect(copy).to_be_visible(timeout=10_000)  # it says again what it does


def assert_above_the_fold(button: Locator, size: ViewportSize) -> None:
    """Check that the button is whole inside the window before anybody scrolls."""
    box = button.bounding_box()
    assert box is not None
    assert box["y"] >= 0
    assert box["y"] + box["height"] <= size["height"]
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= size["width"]


def test_the_button_that_finishes_is_on_the_first_screen_of_a_phone(
    open_window: OpenWindow, person: Enrollment
) -> None:
    phone: ViewportSize = {"width": 390, "height": 844}
    with_join_link(person.study)
    window = open_window(viewport=phone)
    finish = window.link("Finish and get my code")

    window.page.goto(work(person, "stories/"))
    window.choose(**builders.ALL_YES)
    window.button("Save and continue").click()  # from here on the page that is swapped in has the button
    expect(window.page.get_by_text("Your first story is saved. Thank you.")).to_be_visible()
    save_bar = window.page.locator(".save-bar").bounding_box()
    assert save_bar is not None
    for shown in (finish, window.label("q1", "no")):
        assert_above_the_fold(shown, {"width": phone["width"], "height": int(save_bar["y"])})
    window.choose(q1="yes")
    assert_above_the_fold(window.page.locator("[data-part=story]"), phone)

    for page in ("done/", "you/"):
        window.page.goto(work(person, page))
        assert_above_the_fold(finish, phone)
    annotation_actions.suspend(enrollment=person, by=None, now=timezone.now(), reason="too fast")
    window.page.goto(stories_path(person))
    assert_above_the_fold(finish, phone)


def test_where_copying_is_forbidden_the_text_is_selected(window: Window, person: Enrollment) -> None:
    window.page.goto(work(person, "you/"))
    window.page.evaluate(
        "() => (navigator.clipboard.writeText = () => Promise.reject(new Error('forbidden')))"
    )
    window.button("Copy the link").click()
    window.wait_until("getSelection().toString() !== ''")
    assert window.page.evaluate("() => getSelection().toString().trim()") == personal_link(person)
    expect(window.button("Copy the link")).to_be_visible()


@by_size
def test_making_a_join_link_and_checking_a_code(
    open_window: OpenWindow, researcher: tuple[str, str], person: Enrollment, size: ViewportSize
) -> None:
    study = person.study
    window = open_window(viewport=size)
    sign_in(window, researcher)
    window.page.goto(reverse("dashboard:join_link", args=[study.slug]))
    expect(window.heading).to_have_text("Join link")
    window.link("Make a join link").click()
    window.link("SONA").click()
    window.page.get_by_label("Way back after completing the study").fill(
        "https://school.sona-systems.com/credit?survey_code={participant}"
    )
    expect(window.page.get_by_text("credit?survey_code=participant-1")).to_be_visible()
    window.button("Save the join link").click()
    expect(window.page.locator("#join-address")).to_contain_text("?survey_code=%SURVEY_CODE%")
    window.page.get_by_label("Code", exact=True).fill(
        completion_code(study.pseudonym_key, person.pk, CompletionOutcome.SCREENED_OUT).lower()
    )
    window.button("Check it").click()
    expect(window.page.get_by_text("screened out.")).to_be_visible()
    assert_good(window)
