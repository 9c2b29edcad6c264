"""A key made from three experts who disagree: one of them asks, answers by keys and fixes the key."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from accounts.models import User
from annotation import actions
from annotation.models import Membership, Story
from qualification import actions as qualification_actions
from qualification.models import AnswerKey, ExpertReview, Round
from tests import builders
from tests.browser.checks import assert_good
from tests.browser.conftest import PASSWORD, OpenWindow
from tests.browser.pages import sign_in
from tests.browser.windows import SIZES, Window

if TYPE_CHECKING:
    from playwright.sync_api import ViewportSize

pytestmark = pytest.mark.browser

HERE = "/studies/main/qualification/"
EXPERTS = {
    "ada": (Membership.Role.OWNER, builders.ALL_YES),
    "ben": (Membership.Role.REVIEWER, builders.answers(q2="possibly")),
    "cleo": (Membership.Role.AUDITOR, builders.answers(q2="no", q4="no")),
}
"""Per expert: the role in the study, and the answers to both stories."""


def answer_by_action(name: str) -> None:
    review = ExpertReview.objects.get(expert__username=name)
    for round_story in review.round.round_stories.all():
        qualification_actions.save_expert_answers(
            review=review, round_story=round_story, submitted=EXPERTS[name][1]
        )
    qualification_actions.hand_in_review(review=review, by=review.expert, now=timezone.now())


def answer_by_keys(window: Window) -> None:
    """Everything is “yes”, the first option, from the page about the test to the answers handed in."""
    window.page.goto(HERE)
    window.link("Answer them").click()
    expect(window.heading).to_have_text("Your answers as an expert")
    window.link("Answer story 1").first.click()
    for position in (1, 2):
        expect(window.heading).to_have_text(f"Story {position} of 2")
        expect(window.page.get_by_label("Keyboard shortcuts")).to_be_visible()  # from then on they work
        if position == 1:
            assert_good(window)
        for key in ("1", "1", "1", "1", "Enter"):
            window.page.keyboard.press(key)
    expect(window.heading).to_have_text("Your answers as an expert")
    assert_good(window)
    window.button("Hand in").click()
    expect(window.page.get_by_text("Your answers are handed in")).to_be_visible()


@pytest.mark.parametrize("size", SIZES)
def test_a_key_is_built_from_three_experts_who_disagree(open_window: OpenWindow, size: ViewportSize) -> None:
    study = builders.make_study("main", stories=1, opened=False, qualification_required=True)
    rows = [builders.story_row(number, prefix="test") for number in range(2)]
    builders.import_rows(study, rows, role=Story.Role.QUALIFICATION)
    for name, (role, _answers) in EXPERTS.items():
        user = User.objects.create_user(name, password=PASSWORD)
        actions.set_role(study=study, user=user, role=role, by=None, now=timezone.now())
    ada = open_window(viewport=size)
    sign_in(ada, ("ada", PASSWORD))
    ada.page.goto(HERE)
    ada.follow(ada.link("New round"))
    assert_good(ada)
    ada.button("Create the round").click()
    expect(ada.heading).to_have_text("Round 1")
    for name in EXPERTS:
        ada.page.locator("label").get_by_text(name, exact=True).click()
    assert_good(ada)
    ada.button("Ask them").click()
    expect(ada.page.get_by_text("0 handed in; 3 are still answering")).to_be_visible()
    answer_by_keys(ada)
    answer_by_action("ben")
    answer_by_action("cleo")

    ada.page.goto(f"{HERE}1/")
    ada.link("Compare the answers and set the key").click()
    expect(ada.page.get_by_text("Experts differ", exact=True)).to_have_count(4)
    differ = ada.page.get_by_role("navigation", name="Where the experts differ").get_by_role("link")
    expect(differ).to_have_count(4)
    ada.button("Save this key").click()
    expect(ada.page.get_by_role("alert").get_by_role("link")).to_have_count(4)
    assert_good(ada)
    for position in (1, 2):
        ada.page.locator(f"label[for=id_story-{position}-q2_2]").click()  # “no” was one expert's alone
        ada.page.locator(f"label[for=id_story-{position}-q4_1]").click()
        for question in ("q2", "q4"):
            ada.page.locator(f"#id_story-{position}-reason-{question}").fill("We read it once more.")
    ada.page.get_by_label("Note about this version").fill("All three of us met.")
    ada.button("Save this key").click()
    expect(ada.page.get_by_text("Version 1 of the key is saved.")).to_be_visible()
    ada.page.get_by_text("Accepted answers and reasons of version 1").click()
    assert_good(ada)
    key = AnswerKey.objects.get()
    accepted = set(key.options.values_list("question", "option"))
    assert accepted == {("q1", "yes"), ("q2", "yes"), ("q2", "possibly"), ("q3", "yes"), ("q4", "yes")}
    assert Round.objects.get().state == Round.State.ACTIVE
    ada.page.goto(HERE)
    assert_good(ada)
    assert not ada.foreign_requests()
