"""What people who came from a platform take back to it from wherever their way ends: a code, or the way."""

from __future__ import annotations

import pytest
from django.utils import timezone

from annotation import actions
from annotation.models import Study
from recruitment.codes import CompletionOutcome, completion_code
from recruitment.join_links import InvalidJoinLink
from recruitment.links import personal_link
from recruitment.models import JoinLink
from tests import builders
from tests.annotation.pages import at
from tests.doubles.mturk.server import MTurkDouble
from tests.recruitment.ends import (
    BACK,
    CLOSING,
    NEEDS_CODE,
    RETURN_IT,
    close,
    code_on,
    finish_on,
    nothing_left,
    said_on,
    stopped,
    visit_endings,
)
from tests.recruitment.handed_in import Desk
from tests.recruitment.joining import joined, make_join_link

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("client")]


def test_whoever_is_stopped_by_a_newer_protocol_after_some_work_still_gets_their_code() -> None:
    study = builders.make_study()
    make_join_link(study, return_url=NEEDS_CODE)
    (person,) = builders.qualified(study)
    builders.vote(person)
    Study.objects.update(protocol_version="0.0")
    code = completion_code(study.pseudonym_key, person.pk, CompletionOutcome.COMPLETED)

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


def test_who_has_only_done_the_test_has_a_way_back_of_their_own() -> None:
    study = builders.make_study(qualification=1)
    make_join_link(study, return_url=f"{BACK}?done")
    person = builders.take_test(builders.consent(builders.invite(study)[0]), builders.answers(q3="no"))
    assert visit_endings(at(person, "hand-in/")) == [], "it would say that they are done"
    make_join_link(study, screen_out_url=f"{BACK}?tested={{code}}")
    code = completion_code(study.pseudonym_key, person.pk, CompletionOutcome.SCREENED_OUT)
    assert visit_endings(at(person, "hand-in/")) == [f"{BACK}?tested={code}"]


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
    before = at(person, "hand-in/")
    assert "Your code says that you did the test." in said_on(before)
    assert "1 more story completes the study. This page then shows another code" in said_on(before)

    builders.vote(person)
    person.refresh_from_db()
    after = at(person, "hand-in/")
    assert "Your code says that you completed the study." in said_on(after)
    assert "more stor" not in said_on(after).replace("Answer more stories", "")
    assert code_on(before) != code_on(after)
    assert personal_link(person) in said_on(after), "the link to come back by is shown"


def test_only_who_may_answer_more_reads_that_the_code_stays_the_same() -> None:
    study = builders.make_study(stories=3)
    make_join_link(study)
    going_on, left, suspended = builders.qualified(study, 3)
    for person in (going_on, left, suspended):
        builders.vote(person)
    now = timezone.now()
    actions.withdraw(enrollment=left, now=now)
    actions.suspend(enrollment=suspended, by=None, now=now, reason="test")

    for person, goes_on in ((going_on, True), (left, False), (suspended, False)):
        for page in ("stories/", "you/", "hand-in/"):
            said = said_on(at(person, page))
            shows_code = "Your code says that you completed the study." in said
            assert shows_code or (person == going_on and page == "stories/"), page
            assert ("It stays the same if you answer more." in said) is (shows_code and goes_on), page


def test_a_test_alone_after_which_nothing_follows_does_not_promise_another_code() -> None:
    study = builders.make_study(qualification=1)
    person = joined(make_join_link(study))
    builders.take_test(builders.consent(person), builders.answers(q3="no"))
    person.refresh_from_db()
    said = said_on(at(person, "hand-in/"))
    assert "Your code says that you did the test." in said
    assert "another code" not in said
    assert "Answer more" not in said


def test_who_deletes_their_data_is_offered_the_code_first() -> None:
    study = builders.make_study(stories=4)
    make_join_link(study)
    assert len(finish_on(at(stopped(study), "forget/"))) == 1


def test_a_test_that_cannot_begin_any_more_leads_to_the_code() -> None:
    study = builders.make_study(qualification=1)
    make_join_link(study)
    person = builders.consent(builders.invite(study)[0])
    browser = at(person, "qualification/")
    close(person)
    browser.press("Start the test")
    assert browser.heading == "The study is finished"
    assert code_on(browser) == [completion_code(study.pseudonym_key, person.pk, CompletionOutcome.NO_WORK)]
    assert "The researchers see that you came" in said_on(browser)


def test_a_plain_invitation_promises_no_code_and_keeps_none_back() -> None:
    study = builders.make_study(stories=2, votes_per_story=1)
    for arrange in (stopped, nothing_left):
        person = arrange(study)
        for page in ("", "you/", "hand-in/"):
            browser = at(person, page)
            assert not finish_on(browser)
            assert "completion code" not in said_on(browser), (arrange, page)
        assert "This study gives no code" in said_on(at(person, "done/")), arrange
    actions.close_study(study=study, by=None, now=timezone.now())
    closed = said_on(at(person, "stories/"))
    assert "The study is finished" in closed
    assert "This study gives no code" in closed


def test_who_has_work_to_hand_in_on_a_platform_is_not_told_there_is_none() -> None:
    with MTurkDouble() as double:
        desk = Desk(double, builders.make_study())
        visit = desk.come()
        desk.answer(visit)
        assert "This study gives no code" not in said_on(at(visit.enrollment, "done/"))


def test_where_others_take_a_code_back_an_invited_person_may_leave_it() -> None:
    study = builders.make_study()
    make_join_link(study)
    person = stopped(study)
    done = at(person, "done/")
    assert "This study gives no code" not in said_on(done)
    done.open(finish_on(done)[0])
    needless = "If nobody asks you for a code, you don’t need one: everything is saved."
    assert needless in said_on(done)
    awaited = builders.consent(joined(JoinLink.objects.get(study=study)))
    builders.vote(awaited)
    assert needless not in said_on(at(awaited, "hand-in/")), "the platform asks them"


def test_who_passed_the_test_reads_of_the_code_and_finds_it_above_every_story() -> None:
    study = builders.make_study(qualification=1, stories=4)
    make_join_link(study, least_stories=2)
    (person,) = builders.qualified(study)
    assert "press “Finish and get my code”" in said_on(at(person, "qualification/result/"))

    story = at(person, "stories/")
    assert story.heading == "Story 1"
    assert "2 more stories complete the study." in said_on(story)
    builders.vote(person)
    assert "1 more story completes the study." in said_on(at(person, "stories/"))
    builders.vote(person)
    enough = at(person, "stories/")
    assert len(finish_on(enough)) == 1
    assert "You have completed the study. You can go on, or finish." in said_on(enough)


def test_too_few_stories_have_a_code_and_a_way_back_of_their_own() -> None:
    study = builders.make_study(stories=4)
    make_join_link(study, return_url=f"{BACK}?done", least_stories=2)
    person = stopped(study)

    few = at(person, "done/")
    assert "2 stories complete the study. Your code says that you finished fewer." in said_on(few)
    assert code_on(few) == [completion_code(study.pseudonym_key, person.pk, CompletionOutcome.PARTIAL)]
    assert visit_endings(few) == [], "it would say that they are done"
    assert "1 more story completes the study. This page then shows another code" in said_on(few)

    make_join_link(study, screen_out_url=f"{BACK}?few={{code}}")
    assert visit_endings(at(person, "hand-in/")) == [f"{BACK}?few={code_on(few)[0]}"]
    builders.vote(person)
    enough = at(person, "done/")
    assert code_on(enough) == [completion_code(study.pseudonym_key, person.pk, CompletionOutcome.COMPLETED)]
    assert visit_endings(enough) == [f"{BACK}?done"]


def test_who_cannot_reach_the_minimum_is_told_that_it_is_not_their_fault() -> None:
    study = builders.make_study(stories=2, votes_per_story=1)
    make_join_link(study, least_stories=3)
    (person,) = builders.qualified(study)
    builders.vote(person)
    story = said_on(at(person, "stories/"))
    assert "There aren’t enough stories left for you to complete the study." in story
    assert "more stories complete the study" not in story
    builders.vote(person)
    person.refresh_from_db()
    assert "that is not your fault" in said_on(at(person, "hand-in/"))


def test_the_minimum_is_a_number_that_one_person_can_reach() -> None:
    study = builders.make_study(story_cap=5)
    for wrong in (0, 6):
        with pytest.raises(InvalidJoinLink, match="least_stories"):
            make_join_link(study, least_stories=wrong)
    assert make_join_link(study, least_stories=5).least_stories == 5


def test_the_closing_text_stands_where_the_work_is_complete() -> None:
    study = builders.make_study(stories=2, votes_per_story=1)
    make_join_link(study, least_stories=2)
    actions.set_instructions(
        study=study, page="Read slowly.", examples={}, thanks=CLOSING, by=None, now=timezone.now()
    )
    (person, idle) = builders.qualified(Study.objects.get(pk=study.pk), 2)
    builders.vote(person)
    assert CLOSING not in said_on(at(person, "hand-in/")), "one story is missing"
    builders.vote(person)

    assert CLOSING in said_on(at(person, "hand-in/"))
    ended = at(person, "stories/")
    assert ended.heading == "There are no stories left for you"
    assert said_on(ended).count(CLOSING) == 1
    assert CLOSING not in said_on(at(idle, "stories/")), "they did nothing"
