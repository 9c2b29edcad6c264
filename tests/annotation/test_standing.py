"""Pages on which the way ends or waits say what is owed, what to do now, and whom to ask."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from annotation import actions
from annotation.models import Enrollment, Study
from annotation.refusals import refusal_page
from annotation.rules import Reason, Refusal
from tests import builders
from tests.annotation.pages import Browser, at

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("client")]

OWED, NOW, ASK = "What you are owed", "What you can do now", "Contact"
PAID: dict[str, Any] = {"pay_rate": "15.00", "currency": "EUR"}


def standing(browser: Browser) -> dict[str, str]:
    """What the page says about the person's standing, by question."""
    rows: list[Any] = browser.document.xpath("//dl[@class='standing']/div")
    return {
        row.find("dt").text_content().strip(): " ".join(row.find("dd").text_content().split()) for row in rows
    }


def worked(study: Study, stories: int) -> Enrollment:
    """Somebody who has answered so many stories, a minute each."""
    (person,) = builders.qualified(study)
    for _ in range(stories):
        began = timezone.now()
        assignment = builders.claim(person, now=began)
        actions.record_vote(
            assignment_id=assignment.pk,
            enrollment=person,
            submitted=builders.ALL_YES,
            now=began + timedelta(minutes=1),
        )
    return person


def _suspend(person: Enrollment) -> None:
    actions.suspend(enrollment=person, by=None, now=timezone.now(), reason="too fast")


def _withdraw(person: Enrollment) -> None:
    actions.withdraw(enrollment=person, now=timezone.now())


def _close(person: Enrollment) -> None:
    actions.close_study(study=person.study, by=None, now=timezone.now())


def _pause(person: Enrollment) -> None:
    actions.pause_study(study=person.study, by=None, now=timezone.now())


@pytest.mark.parametrize("move", [_suspend, _withdraw, _close, _pause])
def test_whoever_worked_for_pay_reads_what_they_are_owed(move: Callable[[Enrollment], None]) -> None:
    person = worked(builders.make_study(stories=4, **PAID), 2)
    move(person)
    said = standing(at(person, "stories/"))
    assert said[OWED] == "Pay for the 2 stories you finished: about 0.50 EUR, estimated from your pace."
    assert said[NOW]
    assert said[ASK] == "study@example.org"


def test_without_pay_the_work_is_credited_and_nothing_promised() -> None:
    person = worked(builders.make_study(stories=4), 1)
    _close(person)
    said = standing(at(person, "stories/"))[OWED]
    assert said.startswith("The story you finished stays credited to you.")
    assert "EUR" not in said
    assert "USD" not in said


def test_nobody_is_told_of_money_who_did_nothing() -> None:
    (person,) = builders.qualified(builders.make_study(**PAID))
    _close(person)
    assert set(standing(at(person, "stories/"))) == {ASK}, "no money, and no answers to look at"


@pytest.mark.parametrize(("settings", "owed"), [(PAID, True), ({}, False)], ids=["paid", "unpaid"])
def test_the_time_for_a_failed_test_is_owed_where_the_study_pays(settings: Any, owed: bool) -> None:
    person = builders.consent(builders.invite(builders.make_study(qualification=2, **settings))[0])
    builders.take_test(person, builders.answers(q3="no"))
    said = standing(at(person, "qualification/result/"))
    assert (said.get(OWED) == "You are paid for the time you spent on the test.") is owed
    assert NOW not in said, "the button that finishes says it where there is one"
    assert said[ASK] == "study@example.org"


def test_whoever_declined_is_told_the_way_back_and_whom_to_ask() -> None:
    person = actions.decline_consent(enrollment=builders.invite(builders.make_study())[0], now=timezone.now())
    said = standing(at(person, "declined/"))
    assert set(said) == {NOW, ASK}
    assert "read the consent text again" in said[NOW]


def test_every_reason_with_a_page_of_its_own_says_what_to_do() -> None:
    elsewhere = {
        Reason.INVITED,
        Reason.DECLINED,
        Reason.CONSENT_CHANGED,
        Reason.NOT_QUALIFIED_YET,
        Reason.FAILED,
        Reason.SESSION_DONE,
        Reason.SESSION_SETTLED,
    }
    pages = [refusal_page(Refusal(reason)) for reason in set(Reason) - elsewhere]
    assert all(page.title and page.text and page.next for page in pages)
    assert len({str(page.title) for page in pages}) == len(pages)


def test_answers_can_be_looked_at_from_where_the_way_ends() -> None:
    person = worked(builders.make_study(stories=1, votes_per_story=1), 1)
    browser = at(person, "stories/")
    (link,) = browser.document.xpath("//a[normalize-space()='See your answers']/@href")
    browser.open(link)
    assert browser.heading == "Your answers"
