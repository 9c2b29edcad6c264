"""Pages about who came in whose name, and about a study that stops, in a real browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from annotation.rules import pseudonym
from recruitment.models import Campaign
from tests import builders
from tests.browser.checks import assert_good
from tests.browser.conftest import OpenWindow
from tests.browser.pages import sign_in
from tests.browser.windows import SIZES
from tests.recruitment.platform_visits import address, come, newest_visit, publish_campaign

if TYPE_CHECKING:
    from playwright.sync_api import ViewportSize

pytestmark = pytest.mark.browser


@pytest.fixture
def trial() -> Campaign:
    """A test, failed in the name of a worker who then came with another HIT."""
    study = builders.make_study("main", stories=2, qualification=1)
    trial = publish_campaign(study, purpose="test")
    come(trial, assignmentId="3FORGED")
    builders.take_test(builders.consent(newest_visit().enrollment), builders.answers(q1="no"))
    come(trial, assignmentId="3REAL")
    return trial


@pytest.mark.parametrize("size", SIZES)
def test_a_person_takes_the_test_again_and_a_study_takes_its_campaigns_along(
    open_window: OpenWindow, researcher: tuple[str, str], trial: Campaign, size: ViewportSize
) -> None:
    window = open_window(viewport=size)
    page = window.page
    person = newest_visit().enrollment
    sign_in(window, researcher)
    page.goto(reverse("dashboard:person", args=["main", person.pseudonym]))
    window.follow(page.get_by_role("link", name="Tests and visits"))
    expect(page.get_by_text("Two visits claim to be this participant")).to_be_visible()
    expect(page.get_by_label("Somebody else came in their name")).to_be_checked()
    assert_good(window)
    page.get_by_label("Reason, for the log").fill("They wrote to us.")
    page.get_by_role("button", name="Let them retake the test").click()
    expect(page.get_by_text("Done. They can begin")).to_be_visible()
    expect(page.get_by_text("void", exact=True)).to_be_visible()
    assert pseudonym(trial.study.pseudonym_key, person.annotator_id) in page.url
    assert_good(window)

    page.goto(reverse("dashboard:overview", args=["main"]))
    page.get_by_text("More actions").click()
    window.follow(window.button("Pause"))
    assert_good(window)
    page.locator("label", has_text="Mechanical Turk").click()
    page.get_by_role("button", name="Pause the study").click()
    expect(page.get_by_role("button", name="Pause campaign 1 on Mechanical Turk")).to_be_visible()
    assert_good(window)
    page.goto(address(trial, assignmentId="ASSIGNMENT_ID_NOT_AVAILABLE", workerId=None))
    expect(page.get_by_text("Please don’t accept this work now")).to_be_visible()
    assert_good(window)
