"""Answers on the device: kept until the receipt, sent again by themselves, never on another story."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from annotation import actions
from annotation.models import Enrollment, Skip, Vote
from tests import builders
from tests.browser.journeys import SAVE, stored_forms
from tests.browser.submitting import FORM, at_first_story, on_story
from tests.browser.windows import Window, stories_path
from tests.builders import ALL_YES

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Route

pytestmark = pytest.mark.browser

SIGN_IN_PAGE = "<!doctype html><title>Hotel</title><h1>Welcome to the hotel's network</h1>"
"""What a captive portal answers to everything."""


@pytest.fixture
def at_work(window: Window, person: Enrollment) -> Window:
    """The window with the first story of ``person`` on it."""
    return at_first_story(window, person)


def drafts(window: Window) -> int:
    """How many drafts are kept on the device."""
    kept: int = window.page.evaluate(
        "() => Object.keys(localStorage).filter((name) => name.startsWith('draft.')).length"
    )
    return kept


def not_saved(window: Window) -> Locator:
    return window.page.locator("[data-not-saved]:not(#skip *)")


def expect_chosen(window: Window, form: Mapping[str, str]) -> None:
    for question, option in form.items():
        expect(window.radio(question, option)).to_be_checked()
    expect(window.page.locator("input[type=radio]:checked")).to_have_count(len(form))


def answer_posts(window: Window, status: int, body: str = "") -> None:
    """From now on something in between answers every form that is sent, and the server sees none."""

    def stand_in(route: Route) -> None:
        if route.request.method == "POST":
            route.fulfill(status=status, body=body, content_type="text/html")
        else:
            route.fallback()

    window.page.route("**/*", stand_in)


def let_posts_through(window: Window) -> None:
    window.page.unroute("**/*")


def forms_sent_to(window: Window) -> set[str]:
    return {request.url for request in window.requests if request.method == "POST"}


def test_what_was_chosen_survives_a_reload_and_is_announced(at_work: Window) -> None:
    chosen = {"q1": "possibly", "q3": "no"}
    note = at_work.page.locator("form#answers [data-restored]")
    comment = at_work.page.locator("[name=_comment]")
    expect(note).to_be_hidden()
    at_work.choose(**chosen)
    at_work.page.locator("details:has([name=_comment]) > summary").click()
    comment.press_sequentially("The box is")
    at_work.requests.clear()
    at_work.page.reload()
    on_story(at_work, 1)
    expect_chosen(at_work, chosen)
    expect(comment).to_have_value("The box is")
    expect(note).to_be_visible()
    expect(note).to_have_role("status")
    assert forms_sent_to(at_work) == set()


def test_a_form_sent_without_network_is_sent_again_by_itself(at_work: Window, person: Enrollment) -> None:
    at_work.choose(**FORM)
    at_work.context.set_offline(True)
    at_work.button(SAVE).click()
    expect(not_saved(at_work)).to_be_visible()
    assert not Vote.objects.exists()
    at_work.context.set_offline(False)
    on_story(at_work, 2)
    expect(not_saved(at_work)).to_be_hidden()
    assert stored_forms(person) == [FORM]
    assert Vote.objects.count() == 1


def test_one_notice_at_a_time_says_what_becomes_of_the_answers(at_work: Window) -> None:
    restored = at_work.page.locator("form#answers [data-restored]")
    waits_for_the_person = not_saved(at_work).get_by_text("until you save again")
    waits_for_the_network = not_saved(at_work).get_by_text("resent automatically")
    at_work.choose(q1="yes", q2="yes", q3="no")
    at_work.page.reload()
    expect(restored).to_be_visible()
    at_work.context.set_offline(True)
    at_work.button(SAVE).click()  # an incomplete form, which the server would refuse
    expect(waits_for_the_person).to_be_visible()
    expect(waits_for_the_network).to_be_hidden()
    expect(restored).to_be_hidden()
    at_work.choose(q4="yes")
    at_work.button(SAVE).click()
    expect(waits_for_the_network).to_be_visible()
    expect(waits_for_the_person).to_be_hidden()
    at_work.choose(q1="possibly")
    expect(waits_for_the_person).to_be_visible()
    expect(waits_for_the_network).to_be_hidden()


def test_a_form_that_was_left_unanswered_is_never_written_onto_another_story(
    at_work: Window, person: Enrollment
) -> None:
    at_work.choose(**ALL_YES)
    at_work.button(SAVE).click()
    on_story(at_work, 2)
    (first,) = Vote.objects.all()
    stories_page = at_work.page.url
    at_work.choose(**FORM)
    answer_posts(at_work, 502)
    at_work.button(SAVE).click()
    expect(not_saved(at_work)).to_be_visible()
    let_posts_through(at_work)
    at_work.requests.clear()

    at_work.page.goto(stories_page.replace("/stories/", f"/answers/{first.assignment_id}/"))
    expect(at_work.heading).to_have_text("Change an answer")
    at_work.page.wait_for_load_state("networkidle")
    expect_chosen(at_work, ALL_YES)
    assert forms_sent_to(at_work) <= {stories_page}
    assert list(Vote.objects.filter(assignment=first.assignment_id)) == [first]

    at_work.page.goto(stories_page)
    if Vote.objects.count() == 1:  # not sent by itself
        on_story(at_work, 2)
        expect_chosen(at_work, FORM)
        at_work.button(SAVE).click()
    on_story(at_work, 3)
    assert stored_forms(person) == [ALL_YES, FORM]
    assert drafts(at_work) == 0


@pytest.mark.parametrize("status", [200, 404])
def test_an_answer_that_is_no_receipt_keeps_the_draft_and_says_so(
    at_work: Window, person: Enrollment, status: int
) -> None:
    at_work.choose(**FORM)
    answer_posts(at_work, status, SIGN_IN_PAGE)
    at_work.button(SAVE).click()
    expect(not_saved(at_work)).to_contain_text("Not saved")
    on_story(at_work, 1)
    expect_chosen(at_work, FORM)
    assert drafts(at_work) == 1
    let_posts_through(at_work)
    at_work.button(SAVE).click()
    on_story(at_work, 2)
    assert stored_forms(person) == [FORM]


def skip_without_network(window: Window) -> Locator:
    """Returns the alert that says so."""
    skip = window.page.locator("#skip")
    skip.locator("summary").click()
    skip.locator(".option label").first.click()
    window.context.set_offline(True)
    window.button("Skip this story").click()
    expect(skip.get_by_role("alert")).to_contain_text("Not skipped yet")
    expect(skip.get_by_role("alert")).to_contain_text("resent automatically")
    return skip.get_by_role("alert")


def test_a_skip_that_fails_is_sent_by_itself_unless_the_story_is_answered(
    at_work: Window, person: Enrollment
) -> None:
    expect(skip_without_network(at_work)).to_be_in_viewport()
    expect(not_saved(at_work)).to_be_hidden()
    assert not Skip.objects.exists()
    at_work.context.set_offline(False)
    expect(at_work.page.locator("#work .receipt")).to_be_visible()
    assert Skip.objects.count() == 1
    assert drafts(at_work) == 0

    skip_without_network(at_work)
    at_work.choose(**FORM)
    expect(at_work.page.locator("#skip").get_by_text("until you save or skip")).to_be_visible()
    at_work.requests.clear()
    at_work.context.set_offline(False)
    at_work.page.evaluate("() => dispatchEvent(new Event('online'))")
    at_work.page.reload()
    on_story(at_work, 2)
    assert forms_sent_to(at_work) == set()
    expect_chosen(at_work, FORM)
    at_work.button(SAVE).click()
    on_story(at_work, 3)
    at_work.page.reload()
    work = at_work.page.locator("#work").inner_text()
    assert "You skipped a story" not in work, "that was before the answer"
    assert stored_forms(person) == [FORM]
    assert drafts(at_work) == 0
    assert Skip.objects.count() == 1


def test_answers_sent_over_a_replaced_link_arrive_by_the_new_one(at_work: Window, person: Enrollment) -> None:
    at_work.choose(**FORM)
    actions.revoke_link(enrollment=person, by=None, now=timezone.now())
    at_work.button(SAVE).click()
    expect(at_work.heading).to_have_text("This link has been replaced")
    expect(at_work.page.get_by_text("They are kept on this device")).to_be_visible()
    assert drafts(at_work) == 1

    person.refresh_from_db()
    at_work.page.goto(stories_path(person))
    on_story(at_work, 1)
    expect_chosen(at_work, FORM)
    at_work.button(SAVE).click()
    on_story(at_work, 2)
    assert stored_forms(person) == [FORM]
    assert drafts(at_work) == 0


def test_what_the_server_knows_nothing_of_is_let_go(at_work: Window) -> None:
    lease = at_work.page.locator("form#answers [name=assignment]")
    lease.evaluate("(input) => (input.value = '999999')")
    at_work.choose(**FORM)
    assert drafts(at_work) == 1
    at_work.button(SAVE).click()
    expect(at_work.heading).to_have_text("Nothing was saved")
    assert drafts(at_work) == 0


def test_the_draft_goes_with_the_receipt(at_work: Window, person: Enrollment) -> None:
    at_work.choose(**FORM)
    assert drafts(at_work) == 1
    at_work.button(SAVE).click()
    on_story(at_work, 2)
    assert drafts(at_work) == 0
    at_work.page.reload()
    on_story(at_work, 2)
    expect_chosen(at_work, {})
    assert stored_forms(person) == [FORM]


def test_a_test_story_survives_a_lost_network_and_a_reload(window: Window) -> None:
    study = builders.make_study("tested", qualification=2)
    tested = builders.consent(builders.invite(study)[0])
    window.page.goto(window.site + stories_path(tested))
    window.follow(window.button("Start the test"))
    window.choose(**FORM)
    answer_posts(window, 429)
    window.button(SAVE).click()
    expect(not_saved(window).get_by_text("resent automatically")).to_be_visible()
    assert drafts(window) == 1
    let_posts_through(window)

    window.page.goto(window.page.url.replace("/1/", "/2/"))  # another page sends what is waiting
    expect(window.heading).to_have_text("Test story 2 of 2")
    window.page.wait_for_load_state("networkidle")
    assert drafts(window) == 0
    (attempt,) = tested.attempts.all()
    assert {answer.question: answer.option for answer in attempt.answers.all()} == FORM

    window.choose(q1="no")
    window.page.reload()
    expect_chosen(window, {"q1": "no"})
    expect(window.page.locator("[data-restored]")).to_be_visible()
