"""The progress, pay and breaks that annotators' pages show."""

from __future__ import annotations

import time
from datetime import timedelta
from decimal import Decimal
from types import SimpleNamespace

import pytest
from django.core.cache.backends import locmem
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotation import actions, rules
from annotation.models import Vote
from annotation.views import common
from tests import builders
from tests.annotation.pages import ago, answer, at, fact, text_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("client")]

LEFT = "Stories you can still answer"


def test_what_others_answer_is_counted_rarely_and_what_one_answers_oneself_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    study = builders.make_study(stories=5, votes_per_story=1)
    person, other = builders.qualified(study, 2)
    assert fact(at(person, "you/"), LEFT) == "5"
    builders.vote(person)
    builders.vote(other)
    with CaptureQueriesContext(connection) as captured:
        assert fact(at(person, "you/"), LEFT) == "4"
    assert not [query for query in captured if "COUNT" in query["sql"]]

    later = time.time() + common.COUNT_SECONDS
    monkeypatch.setattr(locmem, "time", SimpleNamespace(time=lambda: later))

    assert fact(at(person, "you/"), LEFT) == "3"


def test_counts_leave_out_what_one_has_answered_and_never_exceed_the_limit() -> None:
    study = builders.make_study(stories=3)
    person, _other = builders.qualified(study, 2)
    builders.vote(person)
    builders.vote(person)
    story = at(person, "stories/").document
    assert "2 saved · up to 1 more to answer" in " ".join(story.text_content().split())
    assert story.xpath("//progress/@max") == ["3"]

    builders.vote(person)
    done = at(person, "stories/")
    assert done.heading == "There are no stories left for you"
    said = " ".join(done.document.text_content().split())
    assert "free right now" not in said
    assert "seen every story" not in said
    assert (fact(done, "Stories you finished"), fact(done, LEFT)) == ("3", "")

    capped = builders.qualified(builders.make_study("capped", stories=7, story_cap=2))[0]
    assert "0 saved · up to 2 more" in " ".join(at(capped, "stories/").document.text_content().split())


def test_earnings_stand_beside_the_progress_where_the_study_pays_and_nothing_elsewhere() -> None:
    paid = builders.make_study("paid", pay_rate="36.00", currency="EUR")
    for study, earned in ((paid, True), (builders.make_study("free"), False)):
        (person,) = builders.qualified(study)
        began = timezone.now() - timedelta(seconds=30)
        submitted = actions.record_vote(
            assignment_id=builders.claim(person, now=began).pk,
            enrollment=person,
            submitted=builders.ALL_YES,
            now=began + timedelta(seconds=10),
        )
        assert submitted
        said = " ".join(at(person, "stories/").document.text_content().split())
        assert ("· earned so far: about 0.10 EUR" in said) is earned
        assert ("· earned so far" in said) is earned


def test_a_small_milestone_is_thanked_for_once() -> None:
    (person,) = builders.qualified(builders.make_study(stories=4))
    browser = at(person, "stories/")

    def milestone() -> list[str]:
        return [" ".join(p.text_content().split()) for p in browser.document.xpath("//*[@class='milestone']")]

    assert milestone() == []
    browser.press("Save and continue", **builders.ALL_YES)
    assert milestone() == ["Your first story is saved. Thank you."]
    browser.press("Save and continue", **builders.ALL_YES)
    assert milestone() == []
    assert [rules.milestone(done, 30) for done in (0, 1, 2, 10, 30, 99, 100, 300)] == [
        "", "number", "", "number", "half", "", "number", "number",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("stories", "minutes"),
    [
        pytest.param([46, 36, 26, 16, 6], 46, id="three-quarters-of-an-hour"),
        pytest.param([70, 60, 36, 26, 16, 6], 0, id="after-a-break"),
    ],
)
def test_a_pause_is_suggested_after_long_work_without_a_break(stories: list[int], minutes: int) -> None:
    study = builders.make_study(stories=8)
    (person,) = builders.qualified(study, now=ago(200))
    for minutes_ago in stories:
        answer(person, after=ago(minutes_ago))

    browser = at(person, "stories/")

    text = text_of(browser.document.find("body"))
    assert ("A short break helps your eyes and your answers" in text) == bool(minutes)
    assert (f"reading for {minutes} minutes" in text) == bool(minutes)


def test_no_more_stories_are_promised_than_the_study_has() -> None:
    (person,) = builders.qualified(builders.make_study(stories=3, pay_rate=Decimal("15.00"), qualification=1))
    assert "0 saved · up to 3 more to answer" in at(person, "stories/").document.text_content()
    answer(person, after=ago(1), seconds=20)
    assert "Your pay for the test" in at(person, "you/").document.text_content()


def test_the_last_answer_is_changed_from_the_next_story_and_leads_back_to_it() -> None:
    (person,) = builders.qualified(builders.make_study(stories=3))
    browser = at(person, "stories/")
    story = browser.url
    assert not browser.document.xpath("//a[contains(., 'Change last answer')]")
    browser.press("Save", **builders.ALL_YES)
    shown = browser.document.xpath("//form[@data-answers]//input[@name='assignment']/@value")
    (link,) = browser.document.xpath("//a[contains(., 'Change last answer')]/@href")

    browser.open(link)
    assert browser.heading == "Change an answer"
    browser.press("Save the change", **builders.answers(q2="no"))

    assert browser.heading == "Story 2"
    assert browser.document.xpath("//form[@data-answers]//input[@name='assignment']/@value") == shown
    assert "Saved at" in browser.page.content.decode()
    newest = Vote.objects.get(revision=2)
    assert newest.answers.get(question="q2").option == "no"
    browser.open(link)
    assert browser.document.xpath("//a[contains(., 'Cancel')]/@href") == [story]
