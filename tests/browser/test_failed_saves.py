"""Answers are kept when the network fails, and when study or person change meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from annotation import actions
from annotation.models import Enrollment, Study, SurplusReason, Vote
from tests import builders
from tests.browser.journeys import SAVE, stored_forms, tab_to
from tests.browser.submitting import FORM, at_first_story, on_story
from tests.browser.windows import Window

if TYPE_CHECKING:
    from playwright.sync_api import Route


pytestmark = pytest.mark.browser


@pytest.fixture
def at_work(window: Window, person: Enrollment) -> Window:
    """The window with the first story of ``person`` on it."""
    return at_first_story(window, person)


# The network fails ----------------------------------------------------------------------------------


def _cut(window: Window) -> Callable[[], None]:
    window.context.set_offline(True)
    return lambda: window.context.set_offline(False)


def _lose_the_answer(window: Window) -> Callable[[], None]:
    """The server gets the form and stores it, but its answer is lost on the way."""

    def lose(route: Route) -> None:
        if route.request.method != "POST":
            route.fallback()
            return
        assert route.fetch().ok
        route.abort("connectionreset")

    window.page.route("**/*", lose)
    return lambda: window.page.unroute("**/*")


def _break_the_server(window: Window) -> Callable[[], None]:
    def fail(route: Route) -> None:
        route.fulfill(status=502, body="<h1>Bad gateway</h1>", content_type="text/html")

    window.page.route("**/*", fail)
    return lambda: window.page.unroute("**/*")


@pytest.mark.parametrize(
    ("breaks", "stored_at_once"),
    [(_cut, 0), (_lose_the_answer, 1), (_break_the_server, 0)],
    ids=["no network", "answer lost", "bad gateway"],
)
def test_a_failed_submit_says_so_keeps_the_answers_and_counts_once_when_repeated(
    at_work: Window, person: Enrollment, breaks: Callable[[Window], Callable[[], None]], stored_at_once: int
) -> None:
    at_work.choose(**FORM)
    mend = breaks(at_work)
    at_work.button(SAVE).click()
    alert = at_work.page.get_by_role("alert").filter(visible=True)
    expect(alert).to_contain_text("Not saved")
    expect(alert).to_be_in_viewport()
    on_story(at_work, 1)
    for question, option in FORM.items():
        expect(at_work.radio(question, option)).to_be_checked()
    assert Vote.objects.count() == stored_at_once
    save = at_work.button(SAVE).element_handle()
    mend()
    save.evaluate("save => save.isConnected && save.click()")  # unless the page sent the form first
    on_story(at_work, 2)
    expect(alert).to_have_count(0)
    expect(at_work.page.locator("#work .receipt")).not_to_contain_text("before")
    assert stored_forms(person) == [FORM]


def test_a_second_click_does_not_save_the_next_story_unanswered(at_work: Window, person: Enrollment) -> None:
    """The second click of a double click may come when the next story has taken the place of the first."""
    at_work.choose(**FORM)
    at_work.page.evaluate(
        """() => document.addEventListener("htmx:afterSwap", () => {
            document.querySelector("#answers [type=submit]").click();
        }, { once: true })"""
    )
    at_work.button(SAVE).click()
    on_story(at_work, 2)
    expect(at_work.page.locator("#work .receipt")).to_be_visible()
    expect(at_work.page.get_by_role("alert").filter(visible=True)).to_have_count(0)
    assert stored_forms(person) == [FORM]


# Things happen in the meantime ----------------------------------------------------------------------


def test_a_late_answer_is_kept_but_does_not_decide(at_work: Window, study: Study) -> None:
    now = timezone.now()
    actions.release_expired_leases(now=now + timedelta(hours=1))
    somebody_else = builders.qualified(study)[0]
    builders.vote(somebody_else)
    at_work.choose(**FORM)
    at_work.button(SAVE).click()
    on_story(at_work, 2)
    receipt = at_work.page.locator("#work .receipt")
    expect(receipt).to_contain_text(
        "Your answer is kept and credited to you, but doesn’t decide about the story."
    )
    late = Vote.objects.exclude(assignment__enrollment=somebody_else).get()
    assert late.surplus_reason == SurplusReason.LATE


def test_a_lease_that_ran_out_still_counts_while_nobody_took_the_slot(
    at_work: Window, person: Enrollment
) -> None:
    actions.release_expired_leases(now=timezone.now() + timedelta(hours=1))
    at_work.choose(**FORM)
    at_work.button(SAVE).click()
    on_story(at_work, 2)
    expect(at_work.page.locator("#work .receipt")).not_to_contain_text("doesn’t decide")
    assert Vote.objects.counted().filter(assignment__enrollment=person).count() == 1


def test_a_study_that_closes_meanwhile_still_takes_the_answer(
    at_work: Window, study: Study, person: Enrollment
) -> None:
    actions.close_study(study=study, by=None, now=timezone.now())
    at_work.choose(**FORM)
    at_work.button(SAVE).click()
    expect(at_work.heading).to_have_text("The study is finished")
    expect(at_work.heading).to_be_focused()
    expect(at_work.page.locator("#work .receipt")).to_be_visible()
    assert at_work.page.title().startswith("The study is finished")
    assert Vote.objects.counted().filter(assignment__enrollment=person).count() == 1


def test_somebody_suspended_meanwhile_learns_that_the_answer_is_kept(
    at_work: Window, person: Enrollment
) -> None:
    actions.suspend(enrollment=person, by=None, now=timezone.now(), reason="test")
    at_work.choose(**FORM)
    at_work.button(SAVE).click()
    expect(at_work.heading).to_have_text("You can’t continue right now")
    receipt = at_work.page.locator("#work .receipt")
    expect(receipt).to_contain_text("doesn’t decide about the story")
    expect(receipt).not_to_contain_text("no more answers were needed")
    assert stored_forms(person) == [FORM]


def test_consent_that_changes_meanwhile_is_asked_for_again(at_work: Window, study: Study) -> None:
    actions.add_consent_text(study=study, text="We store more.", by=None, now=timezone.now())
    at_work.choose(**FORM)
    at_work.button(SAVE).click()
    expect(at_work.heading).to_have_text("Do you agree to take part?")
    at_work.button("I agree").click()
    at_work.link("Continue").click()
    on_story(at_work, 2)


def test_the_skip_link_is_the_first_stop_and_leads_to_the_work(at_work: Window) -> None:
    at_work.page.keyboard.press("Tab")
    skip = at_work.link("Skip to content")
    expect(skip).to_be_focused()
    expect(skip).to_be_in_viewport()
    at_work.page.keyboard.press("Enter")
    expect(at_work.page.locator("#main")).to_be_focused()
    tab_to(at_work, at_work.radio("q1", "yes"), limit=3)
