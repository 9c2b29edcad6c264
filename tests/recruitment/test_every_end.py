"""Every end of a study with a join link: a code for what was done, or the way back for nothing done."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone

from annotation import actions
from annotation.models import Enrollment, Study
from recruitment.codes import CompletionOutcome, completion_code
from recruitment.links import personal_link
from recruitment.queries import check_code
from tests import builders
from tests.annotation.pages import Browser, arrive, at
from tests.recruitment.ends import (
    BACK,
    FINISH,
    RETURN_IT,
    Move,
    close,
    code_on,
    finish_on,
    nothing_left,
    pause,
    said_on,
    stopped,
    suspend,
    visit_endings,
    withdraw,
)
from tests.recruitment.joining import come, make_join_link

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("client")]


def _declined(study: Study) -> Browser:
    (person,) = builders.invite(study)
    actions.decline_consent(enrollment=person, now=timezone.now())
    return at(person, "declined/")


def _suspended(study: Study) -> Browser:
    (person,) = builders.qualified(study)
    suspend(person)
    return at(person, "stories/")


def _withdrawn(study: Study) -> Browser:
    (person,) = builders.qualified(study)
    actions.withdraw(enrollment=person, now=timezone.now())
    return at(person, "stories/")


def _not_for_them(study: Study) -> Browser:
    earlier = builders.make_study("earlier")
    actions.admit_through(study=study, source=earlier, by=None, now=timezone.now())
    actions.open_study(study=study, by=None, now=timezone.now())
    return arrive(builders.invite(study)[0])


def _closed_for_invited(study: Study) -> Browser:
    (person,) = builders.invite(study)
    close(person)
    browser = Browser()
    browser.open(personal_link(person))
    return browser


def _closed_for_joining(study: Study) -> Browser:
    actions.close_study(study=study, by=None, now=timezone.now())
    return come()


def _without_an_id(study: Study) -> Browser:
    return come("")


WITHOUT_WORK: dict[str, Callable[[Study], Browser]] = {
    "declined": _declined,
    "suspended": _suspended,
    "withdrawn": _withdrawn,
    "not for them": _not_for_them,
    "closed for an invited person": _closed_for_invited,
    "closed for a new person": _closed_for_joining,
    "without an id": _without_an_id,
}


@pytest.mark.parametrize("end", WITHOUT_WORK.values(), ids=WITHOUT_WORK)
def test_whoever_did_nothing_is_told_the_way_back_for_those(end: Callable[[Study], Browser]) -> None:
    study = builders.make_study(opened=end is not _not_for_them)
    make_join_link(study, leave_url=BACK)

    browser = end(study)

    assert (code_on(browser), visit_endings(browser)) == ([], [BACK])
    assert RETURN_IT not in browser.document.text_content()


@pytest.mark.parametrize("end", [_declined, _closed_for_joining])
def test_whoever_did_nothing_is_never_told_the_way_back_of_who_did(end: Callable[[Study], Browser]) -> None:
    study = builders.make_study()
    make_join_link(study, return_url=BACK)

    browser = end(study)

    assert (code_on(browser), visit_endings(browser)) == ([], [])
    assert RETURN_IT in browser.document.text_content()


def test_in_a_study_without_a_join_link_nobody_is_sent_to_a_platform() -> None:
    browser = _declined(builders.make_study())

    assert visit_endings(browser) == []
    assert RETURN_IT not in browser.document.text_content()


def _all_done(study: Study) -> Enrollment:
    (person,) = builders.qualified(study)
    builders.answer_everything([person])
    return person


def _after(move: Move) -> Callable[[Study], Enrollment]:
    def worked(study: Study) -> Enrollment:
        person = stopped(study)
        move(person)
        return person

    return worked


def _passed(study: Study) -> Enrollment:
    return builders.qualified(study)[0]


def _tested_then(move: Move) -> Callable[[Study], Enrollment]:
    def tested(study: Study) -> Enrollment:
        person = _passed(study)
        move(person)
        return person

    return tested


def _failed(study: Study) -> Enrollment:
    return builders.take_test(builders.consent(builders.invite(study)[0]), builders.answers(q3="no"))


def _nothing_free(study: Study) -> Enrollment:
    for holder in builders.qualified(study, 2):
        builders.claim(holder)
    return builders.consent(builders.invite(study)[0])


def _consented_then(move: Move) -> Callable[[Study], Enrollment]:
    def consented(study: Study) -> Enrollment:
        person = builders.consent(builders.invite(study)[0])
        move(person)
        return person

    return consented


TESTED: dict[str, Any] = {"qualification": 1}
ENDS: dict[str, tuple[Callable[[Study], Enrollment], dict[str, Any], CompletionOutcome]] = {
    "all done": (_all_done, {}, CompletionOutcome.COMPLETED),
    "limit reached": (stopped, {"story_cap": 1}, CompletionOutcome.COMPLETED),
    "stopped in the middle": (stopped, {}, CompletionOutcome.COMPLETED),
    "paused after work": (_after(pause), {}, CompletionOutcome.COMPLETED),
    "closed after work": (_after(close), {}, CompletionOutcome.COMPLETED),
    "suspended after work": (_after(suspend), {}, CompletionOutcome.COMPLETED),
    "withdrew after work": (_after(withdraw), {}, CompletionOutcome.COMPLETED),
    "passed the test": (_passed, TESTED, CompletionOutcome.SCREENED_OUT),
    "failed the test": (_failed, TESTED, CompletionOutcome.SCREENED_OUT),
    "suspended after the test": (_tested_then(suspend), TESTED, CompletionOutcome.SCREENED_OUT),
    "withdrew after the test": (_tested_then(withdraw), TESTED, CompletionOutcome.SCREENED_OUT),
    "closed after the test": (_tested_then(close), TESTED, CompletionOutcome.SCREENED_OUT),
    "nothing left after consent": (nothing_left, {}, CompletionOutcome.NO_WORK),
    "nothing free after consent": (_nothing_free, {}, CompletionOutcome.NO_WORK),
    "nothing left before the test": (nothing_left, TESTED, CompletionOutcome.NO_WORK),
    "nothing free before the test": (_nothing_free, TESTED, CompletionOutcome.NO_WORK),
    "closed after consent": (_consented_then(close), {}, CompletionOutcome.NO_WORK),
    "paused after consent": (_consented_then(pause), {}, CompletionOutcome.NO_WORK),
    "closed before the test": (_consented_then(close), TESTED, CompletionOutcome.NO_WORK),
}


SHORT = {
    *("all done", "limit reached", "stopped in the middle"),
    *("paused after work", "suspended after work", "withdrew after work"),
    *("passed the test", "failed the test", "withdrew after the test", "closed after the test"),
    *("nothing free before the test", "closed after consent"),
}
"""At least one for each page that can be the end; the others run under torture."""


@pytest.mark.parametrize(
    ("arrange", "settings", "outcome"),
    [
        pytest.param(*end, id=name, marks=() if name in SHORT else pytest.mark.torture)
        for name, end in ENDS.items()
    ],
)
def test_every_end_has_one_button_above_all_else_that_leads_to_the_code(
    arrange: Callable[[Study], Enrollment], settings: dict[str, Any], outcome: CompletionOutcome
) -> None:
    study = builders.make_study(stories=2, votes_per_story=1, **settings)
    person = arrange(study)
    make_join_link(study)
    person.refresh_from_db()
    code = completion_code(study.pseudonym_key, person.pk, outcome)
    pages = [arrive(person), at(person, "done/"), at(person, "you/")]
    if person.state in ("failed", "qualified") and settings is TESTED:
        pages.append(at(person, "qualification/result/"))

    for browser in pages:
        said = said_on(browser)
        (finish,) = finish_on(browser)
        assert "/hand-in/" in finish
        assert "close this page" not in said.lower()
        assert "close the page" not in said.lower()
        assert person.stories_submitted or "You can change them for a while" not in said
        first = browser.document.xpath("//*[@id='work']//*[self::h1 or self::p or self::a or self::dl]")
        place = [one.text_content().strip() == FINISH for one in first].index(True)
        assert place <= 3, "only the heading, a line above a story, or the first story after the test"
        links = browser.document.xpath(f"//a[normalize-space()='{FINISH}']/@class")
        assert links == ["button button--quiet" if browser.heading == "You passed" else "button"]

    assert code_on(pages[0]) == [code]
    checked = check_code(study, code, participant="")
    assert checked is not None
    assert (checked.enrollment, checked.outcome, checked.still_true) == (person, outcome, True)
