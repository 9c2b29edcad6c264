"""Hidden checks in a real browser: set up by a researcher, met by somebody who is warned."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from annotation.models import CheckOption, Story
from tests import builders
from tests.browser.checks import assert_good
from tests.browser.conftest import OpenWindow
from tests.browser.journeys import SAVE
from tests.browser.pages import sign_in
from tests.browser.windows import DESKTOP, Window, stories_path

pytestmark = pytest.mark.browser


def test_known_answers_and_rules_are_set(open_window: OpenWindow, researcher: tuple[str, str]) -> None:
    study = builders.make_study("main", stories=1)
    rows = [builders.story_row(number, prefix="known") for number in range(500, 503)]
    first, *others = builders.import_rows(study, rows, role=Story.Role.CHECK)
    desk = open_window(viewport=DESKTOP)
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

    desk.page.get_by_label("Warn when this percentage of checks is failed").fill("40")
    desk.button("Save").click()
    expect(
        desk.page.get_by_text("Saved. The rules apply from each participant’s next story on.")
    ).to_be_visible()
    assert_good(desk)
    assert not desk.foreign_requests()


@pytest.mark.torture
def test_a_warning_comes_with_the_next_story(window: Window) -> None:
    study = builders.make_study("main", stories=30)
    builders.add_checks(study, 3, minimum=1, warn_percent=50)
    (person,) = builders.qualified(study)
    builders.work_through(person, 4, on_checks=builders.answers(q2="no"))
    window.page.goto(stories_path(person))
    window.choose(**builders.ALL_YES)
    window.button(SAVE).click()
    warning = window.page.get_by_role("status").filter(has_text="Please read the instructions again")
    expect(warning).to_contain_text("You differed on 1 of 1")
    expect(warning).to_contain_text(str(study.protocol.questions[1].title))
    assert_good(window)
