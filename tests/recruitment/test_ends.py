"""What people who came from a platform take back to it from wherever their way ends: a code, or the way."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.utils import timezone

from annotation import actions
from annotation.models import Enrollment, Study
from recruitment.codes import Outcome, completion_code
from recruitment.links import personal_link
from tests import builders
from tests.annotation.pages import Browser, arrive, at
from tests.recruitment.test_joining import come, joined, make_join_link

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("client")]

BACK = "https://app.example.org/return"
NEEDS_CODE = f"{BACK}?cc={{code}}"
RETURN_IT = "return your submission"
Move = Callable[[Enrollment], object]


def code_on(browser: Browser) -> list[str]:
    return [str(code) for code in browser.document.xpath("//output[@id='completion-code']/text()")]


def ways_back(browser: Browser) -> list[str]:
    return [str(address) for address in browser.document.xpath("//a[starts-with(@href, 'https://')]/@href")]


def suspend(person: Enrollment) -> object:
    return actions.suspend(enrollment=person, by=None, now=timezone.now(), reason="too fast")


def pause(person: Enrollment) -> object:
    return actions.pause_study(study=person.study, by=None, now=timezone.now())


def close(person: Enrollment) -> object:
    return actions.close_study(study=person.study, by=None, now=timezone.now())


def change_protocol(person: Enrollment) -> object:
    return Study.objects.filter(pk=person.study_id).update(protocol_version="0.0")


STOPS: dict[str, Move] = {"suspended": suspend, "paused": pause, "protocol changed": change_protocol}


@pytest.mark.parametrize("stop", STOPS.values(), ids=STOPS)
def test_whoever_is_stopped_after_some_work_still_gets_their_code(stop: Move) -> None:
    study = builders.make_study()
    make_join_link(study, return_url=NEEDS_CODE, return_hosts=["app.example.org"])
    (person,) = builders.qualified(study)
    builders.vote(person)
    stop(person)
    code = completion_code(study.pseudonym_key, person.pk, Outcome.COMPLETED)

    for page in ("stories/", "you/", "done/"):
        assert code_on(at(person, page)) == [code], page


def test_there_is_no_code_for_nothing_done() -> None:
    link = make_join_link(builders.make_study(qualification=1))
    person = joined(link)
    browser = at(person, "done/")
    assert (browser.heading, code_on(browser)) == ("Do you agree to take part?", [])
    builders.consent(person)
    browser = at(person, "done/")
    assert (browser.heading, code_on(browser)) == ("First, 1 test story", [])

    idle = builders.consent(joined(make_join_link(builders.make_study("open"))))
    browser = at(idle, "done/")
    assert code_on(browser) == code_on(at(idle, "you/")) == []
    assert RETURN_IT in browser.document.text_content()


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
@pytest.mark.parametrize("way", ["leave_url", "return_url"])
def test_whoever_did_nothing_is_told_the_way_back_and_never_the_one_of_who_did(
    end: Callable[[Study], Browser], way: str
) -> None:
    study = builders.make_study(opened=end is not _not_for_them)
    make_join_link(study, return_hosts=["app.example.org"], **{way: BACK})

    browser = end(study)

    assert code_on(browser) == []
    assert ways_back(browser) == ([BACK] if way == "leave_url" else [])
    assert (RETURN_IT in browser.document.text_content()) is (way != "leave_url")


def test_who_has_only_done_the_test_has_a_way_back_of_their_own() -> None:
    study = builders.make_study(qualification=1)
    make_join_link(study, return_url=f"{BACK}?done", return_hosts=["app.example.org"])
    person = builders.take_test(builders.consent(builders.invite(study)[0]), builders.answers(q3="no"))
    assert ways_back(at(person, "you/")) == [], "it would say that they are done"
    make_join_link(study, screen_out_url=f"{BACK}?tested={{code}}")
    code = completion_code(study.pseudonym_key, person.pk, Outcome.SCREENED_OUT)
    assert ways_back(at(person, "you/")) == [f"{BACK}?tested={code}"]


def test_in_a_study_without_a_join_link_nobody_is_sent_to_a_platform() -> None:
    browser = _declined(builders.make_study())

    assert ways_back(browser) == []
    assert RETURN_IT not in browser.document.text_content()


def test_your_place_shows_the_personal_link() -> None:
    (invited,) = builders.qualified(builders.make_study())
    came = builders.consent(joined(make_join_link(builders.make_study("open"))))

    for person, by_platform in ((invited, False), (came, True)):
        browser = at(person, "you/")
        assert browser.document.xpath("//output[@id='personal-link']/text()") == [personal_link(person)]
        assert ("opening the study there again" in browser.document.text_content()) is by_platform


def test_the_code_says_what_it_is_for_and_whether_another_one_follows() -> None:
    study = builders.make_study(qualification=1)
    person = joined(make_join_link(study))
    builders.take_test(builders.consent(person), builders.ALL_YES)
    person.refresh_from_db()
    before = at(person, "done/")
    assert "code for the test alone. Once you have answered a first story" in before.document.text_content()

    builders.vote(person)
    person.refresh_from_db()
    after = at(person, "done/")
    assert "code for the stories you answered" in after.document.text_content()
    assert code_on(before) != code_on(after)
    assert personal_link(person) in after.document.text_content(), "the link to come back by is shown"


def test_a_test_alone_after_which_nothing_follows_does_not_promise_another_code() -> None:
    study = builders.make_study(qualification=1)
    person = joined(make_join_link(study))
    builders.take_test(builders.consent(person), builders.answers(q3="no"))
    person.refresh_from_db()
    said = at(person, "you/").document.text_content()
    assert "code for the test alone; no stories follow" in said
    assert "Once you have answered" not in said
