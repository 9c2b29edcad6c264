"""Pages about who came in whose name, and about a study that stops, in a real browser."""

from __future__ import annotations

from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from annotation.rules import pseudonym
from recruitment.models import Campaign
from tests import builders
from tests.browser.checks import assert_good
from tests.browser.conftest import OpenWindow
from tests.browser.pages import sign_in
from tests.browser.windows import DESKTOP
from tests.recruitment.platform_visits import address, come, newest_visit, put_up

pytestmark = pytest.mark.browser
SIZES: dict[str, dict[str, Any]] = {"phone": {}, "desk": {"viewport": DESKTOP}}


@pytest.fixture
def trial() -> Campaign:
    """A test, failed in the name of a worker who then came with another HIT."""
    study = builders.make_study("main", stories=2, qualification=1)
    trial = put_up(study, purpose="test")
    come(trial, assignmentId="3FORGED")
    builders.take_test(builders.consent(newest_visit().enrollment), builders.answers(q1="no"))
    come(trial, assignmentId="3REAL")
    return trial


@pytest.mark.parametrize("size", SIZES)
def test_a_person_takes_the_test_again_and_a_study_takes_its_campaigns_along(
    open_window: OpenWindow, researcher: tuple[str, str], trial: Campaign, size: str
) -> None:
    window = open_window(**SIZES[size])
    page = window.page
    person = newest_visit().enrollment
    sign_in(window, researcher)
    page.goto(reverse("dashboard:differences", args=["main"]))
    page.get_by_role("link", name="Tests and visits").click()
    assert_good(window)
    page.get_by_label("Reason, for the log").fill("They wrote to us.")
    page.get_by_role("button", name="Let them take the test again").click()
    expect(page.get_by_text("Done. They can begin")).to_be_visible()
    expect(page.get_by_text("void", exact=True)).to_be_visible()
    assert pseudonym(trial.study.pseudonym_key, person.annotator_id) in page.url
    assert_good(window)

    page.goto(reverse("dashboard:study", args=["main"]))
    page.get_by_text("What else you can do").click()
    page.get_by_role("button", name="Pause", exact=True).click()
    assert_good(window)
    page.locator("label", has_text="Mechanical Turk").click()
    page.get_by_role("button", name="Pause the study").click()
    expect(page.get_by_role("button", name="Pause campaign 1 on Mechanical Turk")).to_be_visible()
    assert_good(window)
    page.goto(address(trial, assignmentId="ASSIGNMENT_ID_NOT_AVAILABLE", workerId=None))
    expect(page.get_by_text("Please do not accept this work now")).to_be_visible()
    assert_good(window)
