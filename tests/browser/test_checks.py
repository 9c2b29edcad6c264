"""Hidden checks in a real browser: set up by a researcher, met by somebody who is warned, then suspended."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from annotation.models import Assignment, CheckOption, Story
from tests import builders
from tests.browser.checks import assert_good
from tests.browser.conftest import OpenWindow
from tests.browser.pages import sign_in
from tests.browser.windows import DESKTOP, PHONE, Window, stories_path

pytestmark = pytest.mark.browser

CARELESS = builders.answers(q2="no")


def answer(window: Window) -> None:
    """Answer the story on the page, carelessly if it is a check."""
    held = Assignment.objects.get(state=Assignment.State.LEASED)
    window.choose(**(CARELESS if held.story.role == Story.Role.CHECK else builders.ALL_YES))
    window.button("Save and continue").click()
    expect(window.page.locator(f"input[name=assignment][value='{held.pk}']")).to_have_count(0)


def test_somebody_who_fails_checks_is_warned_and_then_suspended(
    open_window: OpenWindow, researcher: tuple[str, str]
) -> None:
    study = builders.make_study("main", stories=30)
    rows = [builders.story_row(number, prefix="known") for number in range(500, 503)]
    first, *others = builders.import_rows(study, rows, role=Story.Role.CHECK)
    desk, phone = open_window(viewport=DESKTOP), open_window(viewport=PHONE)

    sign_in(desk, researcher)
    desk.page.goto("/studies/main/quality/hidden-checks/")
    expect(desk.page.get_by_text("3 checks have no known answers yet")).to_be_visible()
    desk.link(first.story_id).click()
    expect(desk.heading).to_have_text(first.story_id)
    for question in builders.ALL_YES:
        desk.page.locator(f"label[for='id_{question}_0']").click()
    desk.button("Save the known answers").click()
    expect(desk.page.get_by_text("Saved. The check is in use.")).to_be_visible()
    assert_good(desk)
    desk.link("All checks").click()
    desk.link("Set the known answers").click()
    for check in others:
        row = desk.page.get_by_role("region", name=check.story_id)
        for question in builders.ALL_YES:
            if (check, question) != (others[-1], "q4"):
                row.get_by_role("group", name=re.compile(f"{question[1]}\\. ")).get_by_text("Yes").click()
    desk.button("Save the known answers").click()
    expect(desk.page.get_by_role("alert")).to_contain_text("Nothing was saved")
    assert_good(desk)
    desk.page.get_by_role("alert").get_by_role("link").click()
    expect(desk.page.get_by_role("group", name=f"{others[-1].story_id}: 4.")).to_be_in_viewport()
    row.get_by_role("group", name=re.compile(r"4\. ")).get_by_text("Yes").click()
    desk.button("Save the known answers").click()
    expect(desk.page.get_by_text("2 checks have these known answers")).to_be_visible()
    assert CheckOption.objects.count() == 12
    desk.page.get_by_label("One check per so many stories of a participant").fill("5")
    desk.page.get_by_label("Consequences only from so many answered checks").fill("2")
    desk.page.get_by_label("Warn at a share of failed checks of (percent)").fill("40")
    desk.page.get_by_label("Suspend at a share of failed checks of (percent)").fill("60")
    desk.button("Save").click()
    expect(
        desk.page.get_by_text("Saved. The rules apply from each participant’s next story on.")
    ).to_be_visible()
    assert_good(desk)

    (person,) = builders.qualified(study)
    builders.work_through(person, 5)
    phone.page.goto(stories_path(person))
    for _ in range(4):
        answer(phone)
        expect(phone.page.get_by_text("known answers")).to_have_count(0)
    answer(phone)
    warning = phone.page.get_by_role("status").filter(has_text="Please read the instructions again")
    expect(warning).to_contain_text("You differed on 1 of 2")
    expect(warning).to_contain_text(str(study.protocol.questions[1].title))
    assert_good(phone)
    answer(phone)
    expect(warning).to_have_count(0)
    builders.work_through(person, 3, on_checks=CARELESS)
    phone.page.reload()
    answer(phone)
    expect(phone.heading).to_have_text("You can’t continue right now")
    expect(phone.page.get_by_text("You differed on 2 of 3")).to_be_visible()

    desk.page.reload()
    expect(desk.page.get_by_role("row").filter(has_text="100")).to_have_count(2)
    assert not desk.foreign_requests()
    assert not phone.foreign_requests()
