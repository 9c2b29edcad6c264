"""Answers are kept when the server's answer gets lost, and when study or person change meanwhile."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from annotation import actions
from annotation.models import Enrollment, Study, SurplusReason, Vote
from tests import builders
from tests.browser.journeys import SAVE, stored_forms
from tests.browser.submitting import FORM, at_first_story, on_story
from tests.browser.windows import Window

if TYPE_CHECKING:
    from playwright.sync_api import Route


pytestmark = pytest.mark.browser


@pytest.fixture
def at_work(window: Window, person: Enrollment) -> Window:
    """The window with the first story of ``person`` on it."""
    return at_first_story(window, person)


def test_a_save_whose_answer_is_lost_says_so_and_counts_once_when_repeated(
    at_work: Window, person: Enrollment
) -> None:
    """``test_drafts`` has the saves that never reach the server."""

    def lose(route: Route) -> None:
        if route.request.method != "POST":
            route.fallback()
            return
        assert route.fetch().ok
        route.abort("connectionreset")

    at_work.page.route("**/*", lose)
    at_work.choose(**FORM)
    at_work.button(SAVE).click()
    alert = at_work.page.get_by_role("alert").filter(visible=True)
    expect(alert).to_contain_text("Not saved")
    expect(alert).to_be_in_viewport()
    on_story(at_work, 1)
    assert stored_forms(person) == [FORM]
    save = at_work.button(SAVE).element_handle()
    at_work.page.unroute("**/*")
    save.evaluate("save => save.isConnected && save.click()")  # unless the page sent the form first
    on_story(at_work, 2)
    expect(alert).to_have_count(0)
    expect(at_work.page.locator("#work .receipt")).not_to_contain_text("before")
    assert stored_forms(person) == [FORM]


def test_a_study_that_closes_meanwhile_still_takes_the_answer(
    at_work: Window, study: Study, person: Enrollment
) -> None:
    """The page that takes the form's place has no form: its heading gets the focus and the title."""
    actions.close_study(study=study, by=None, now=timezone.now())
    at_work.choose(**FORM)
    at_work.button(SAVE).click()
    expect(at_work.heading).to_have_text("The study is finished")
    expect(at_work.heading).to_be_focused()
    expect(at_work.page.locator("#work .receipt")).to_be_visible()
    assert at_work.page.title().startswith("The study is finished")
    assert Vote.objects.counted().filter(assignment__enrollment=person).count() == 1


def test_a_late_answer_is_kept_but_does_not_decide(at_work: Window, study: Study, person: Enrollment) -> None:
    actions.release_expired_leases(now=timezone.now() + timedelta(hours=1))
    builders.vote(builders.qualified(study)[0])
    at_work.choose(**FORM)
    at_work.button(SAVE).click()
    on_story(at_work, 2)
    receipt = at_work.page.locator("#work .receipt")
    expect(receipt).to_contain_text("no more answers were needed by then")
    expect(receipt).to_contain_text("doesn’t decide about the story")
    assert Vote.objects.get(assignment__enrollment=person).surplus_reason == SurplusReason.LATE


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
