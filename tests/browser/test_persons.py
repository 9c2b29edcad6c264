"""The list of people, inviting some, and what is decided about one, in a real browser at both widths."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from annotation import actions, rules
from annotation.models import Enrollment
from dashboard.figures import compute
from tests import builders
from tests.browser.checks import assert_good
from tests.browser.conftest import OpenWindow
from tests.browser.pages import sign_in

if TYPE_CHECKING:
    from playwright.sync_api import ViewportSize

from tests.browser.windows import SIZES

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("size", SIZES)
def test_somebody_is_found_looked_at_suspended_and_let_go_on(
    open_window: OpenWindow, researcher: tuple[str, str], size: ViewportSize
) -> None:
    study = builders.make_study("main", stories=24, qualification=1)
    builders.add_checks(study, 3)
    careless, *thorough = builders.qualified(study, 3)
    builders.work_through(careless, 15, on_checks=builders.answers(q1="no", q3="no"))
    for person in thorough:
        builders.work_through(person, 26, on_checks=builders.ALL_YES)
    builders.invite(study, 3)
    actions.exclude_annotator(enrollment=thorough[0], reason="x", told="y", by=None, now=timezone.now())
    compute.make(study.pk, now=timezone.now())
    name = rules.pseudonym(study.pseudonym_key, careless.annotator_id)
    desk = open_window(viewport=size, java_script_enabled=True)

    sign_in(desk, researcher)
    desk.page.goto("/studies/main/people/")
    expect(desk.page.get_by_text("6 participants", exact=True)).to_be_visible()
    assert_good(desk)
    desk.page.get_by_text("Filters", exact=True).click()
    desk.page.get_by_label("Flag").select_option("fails_checks")
    desk.button("Show").click()
    expect(desk.page.get_by_text("1 participant", exact=True)).to_be_visible()
    desk.link(name).click()

    expect(desk.heading).to_have_text(name)
    desk.link("Their choices and the accepted answers").click()
    failed = desk.page.get_by_role("region", name="Hidden checks they failed")
    expect(failed.get_by_role("row")).to_have_count(1 + 2 * 3)
    desk.page.get_by_text("Suspend", exact=True).first.click()
    assert_good(desk)
    desk.page.get_by_label("Reason").fill("Three of three checks.")
    desk.button("Suspend").click()
    expect(desk.page.get_by_text("Suspended. They get no more stories")).to_be_visible()
    expect(desk.page.get_by_text("Three of three checks.")).to_be_visible()
    desk.page.get_by_text("Let them continue").first.click()
    assert_good(desk)
    desk.page.get_by_label("Reason").fill("The checks were hard.")
    desk.button("Let them continue").click()
    expect(desk.page.get_by_text("They can continue.")).to_be_visible()
    careless.refresh_from_db()
    assert careless.state == Enrollment.State.QUALIFIED
    desk.page.get_by_text("Their personal link").click()
    desk.button("Make a new link").click()
    expect(desk.heading).to_have_text("A new link")
    assert_good(desk)


@pytest.mark.parametrize("size", SIZES)
def test_people_are_invited(
    open_window: OpenWindow, researcher: tuple[str, str], size: ViewportSize, settings: Any
) -> None:
    settings.SENDS_MAIL = True
    builders.make_study("main", opened=False)
    desk = open_window(viewport=size)
    sign_in(desk, researcher)
    desk.page.goto("/studies/main/people/")
    assert_good(desk)
    desk.link("Invite participants").click()
    desk.button("Send the invitations").click()
    expect(desk.page.get_by_role("alert")).to_contain_text("Nobody was invited")
    assert_good(desk)
    desk.page.get_by_label("How many links").fill("4")
    desk.button("Make links").click()
    expect(desk.heading).to_have_text("New links")
    links = desk.page.locator("#new-links").inner_text().split()
    assert len(links) == Enrollment.objects.count() == 4
    assert_good(desk)
    with desk.page.expect_download() as file:
        desk.link("Links (CSV)").click()
    assert file.value.path().read_text().splitlines()[1].endswith(links[0])


@pytest.mark.parametrize("size", SIZES)
def test_stories_are_given_by_name_and_taken_back(
    open_window: OpenWindow, researcher: tuple[str, str], size: ViewportSize
) -> None:
    study = builders.make_study("main", stories=3, votes_per_story=1)
    one, two = builders.qualified(study, 2)
    desk = open_window(viewport=size)
    sign_in(desk, researcher)
    desk.page.goto("/studies/main/people/")
    desk.link("Given stories").click()
    expect(desk.page.get_by_text("Nobody has been given a story by name.")).to_be_visible()
    assert_good(desk)
    lines = [f"story_0000{number}_sev1,{person.pseudonym}" for number, person in enumerate((one, two, one))]
    desk.page.get_by_label("Stories", exact=True).fill("\n".join([*lines, f"story_9,{one.pseudonym}"]))
    desk.button("Give stories").click()
    expect(desk.page.get_by_role("alert")).to_contain_text("Line 4: The study has no story “story_9”")
    assert_good(desk)
    desk.page.get_by_label("Stories", exact=True).fill("\n".join(lines))
    desk.button("Give stories").click()
    expect(desk.page.get_by_text("Participants who get them first: 2.")).to_be_visible()
    assert_good(desk)
    desk.page.get_by_role("button", name=f"Take back what is left {two.pseudonym}").click()
    expect(desk.page.get_by_text("Stories taken back: 1.")).to_be_visible()
    desk.link(one.pseudonym).click()
    expect(desk.page.get_by_text("Stories given by name: 2, answered: 0, still to answer: 2")).to_be_visible()
    assert_good(desk)
    desk.link("Give stories").click()
    expect(desk.page.get_by_label("Participant", exact=True)).to_have_value(one.pseudonym)
