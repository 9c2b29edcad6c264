"""A person's own pages over HTTP, with all cookies blocked."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime, timedelta
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.cache.backends import locmem
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from lxml import html

from accounts.actions import set_email
from accounts.models import Annotator, PlatformIdentity
from annotation import actions, queries, rules
from annotation.models import Answer, Enrollment, Event, Study, Vote
from annotation.views import common
from recruitment.links import personal_link
from tests import builders
from tests.annotation.pages import Browser, at, token_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("client")]

NO = builders.answers(q1="no", q4="no")
WRITTEN = (Vote, Answer, Enrollment, Event, PlatformIdentity, Annotator)


@pytest.fixture
def study() -> Study:
    return builders.make_study(stories=3)


@pytest.fixture
def person(study: Study) -> Enrollment:
    """Has answered one story half an hour ago, in 40 seconds."""
    (person,) = builders.qualified(study, now=ago(31))
    answer(person, after=ago(31), seconds=40)
    return Enrollment.objects.select_related("study").get(pk=person.pk)


@pytest.fixture
def no_writes() -> Callable[[], None]:
    """Call it to see that nothing was written since the test began."""
    tables = {model: list(model.objects.order_by("pk").values()) for model in WRITTEN}

    def check() -> None:
        assert {model: list(model.objects.order_by("pk").values()) for model in WRITTEN} == tables

    return check


def ago(minutes: float) -> datetime:
    return timezone.now() - timedelta(minutes=minutes)


def answer(person: Enrollment, *, after: datetime, seconds: int = 40, **changes: str) -> Vote:
    assignment = builders.claim(person, now=after)
    receipt = actions.record_vote(
        assignment_id=assignment.pk,
        enrollment=person,
        submitted=builders.answers(**changes),
        now=after + timedelta(seconds=seconds),
    )
    return receipt.vote


def text_of(element: Any) -> str:
    return " ".join(element.text_content().split())


def cards(browser: Browser) -> list[Any]:
    return list(browser.document.xpath("//section[contains(@class, 'card')]"))


def fact(browser: Browser, name: str) -> str:
    found = browser.document.xpath(f"//dt[normalize-space()='{name}']/following-sibling::dd")
    return text_of(found[0]) if found else ""


def links(browser: Browser) -> dict[str, str]:
    return {text_of(link): link.get("href") for link in browser.document.xpath("//main//a")}


def checked(browser: Browser) -> dict[str, str]:
    return {i.get("name"): i.get("value") for i in browser.document.xpath("//input[@type='radio'][@checked]")}


# The list


def test_the_list_shows_what_was_answered_in_the_words_of_the_form(person: Enrollment) -> None:
    actions.change_vote(
        assignment_id=Vote.objects.get().assignment_id,
        enrollment=person,
        submitted=builders.answers(q1="possibly", q3="no"),
        now=timezone.now(),
    )

    browser = at(person, "answers/")

    (card,) = cards(browser)
    story = Vote.objects.first().assignment.story  # type: ignore[union-attr]
    assert story.content["key_information"] in text_of(card)
    protocol = person.study.protocol
    shown = [
        (text_of(row.find("dt")), text_of(row.find("dd"))) for row in card.xpath(".//dl[@class='facts']/div")
    ]
    assert shown == [
        (str(question.title), str(question.option(option).label))
        for question, option in zip(protocol.questions, ("possibly", "yes", "no", "yes"), strict=True)
    ]
    assert "Saved at" in text_of(card)


def test_the_list_pages_through_all_of_ones_own_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    assert queries.RECENT == 50
    monkeypatch.setattr(queries, "RECENT", 2)
    study = builders.make_study(stories=5)
    one, other = builders.qualified(study, 2, now=ago(100))
    mine = [answer(one, after=ago(90 - number)) for number in range(5)]
    answer(other, after=ago(1))
    expected = [vote.assignment.story.content["key_information"] for vote in reversed(mine)]

    browser = at(one, "answers/")
    first = browser.url
    shown = [text_of(card) for card in cards(browser)]
    assert len(shown) == 2
    while "Older answers" in links(browser):
        browser.open(browser.url.partition("?")[0] + links(browser)["Older answers"])
        assert "Newer answers" in links(browser)
        shown += [text_of(card) for card in cards(browser)]

    assert len(shown) == 5
    assert all(text in card for text, card in zip(expected, shown, strict=True))
    assert "Newer answers" not in links(at(one, "answers/"))
    for beyond in ("?page=4", "?page=99999999999", "?page=-1", "?page=x"):
        browser.open(first + beyond)
        assert len(cards(browser)) == 2
        assert "Newer answers" not in links(browser)


def test_an_empty_list_says_so(study: Study) -> None:
    browser = at(builders.qualified(study)[0], "answers/")

    assert "You haven’t answered any stories yet." in browser.page.content.decode()
    assert links(browser)["Back to the stories"].endswith("/stories/")


def _suspend(person: Enrollment) -> None:
    actions.suspend(enrollment=person, by=None, now=timezone.now(), reason="too fast")


def _withdraw(person: Enrollment) -> None:
    actions.withdraw(enrollment=person, now=timezone.now())


def _freeze(person: Enrollment) -> None:
    actions.freeze_answers(study=person.study, now=timezone.now())


def _no_time(person: Enrollment) -> None:
    Study.objects.update(change_hours=0)


REFUSED = [
    pytest.param(_suspend, "Your participation is paused or has ended", id="suspended"),
    pytest.param(_withdraw, "Your participation is paused or has ended", id="withdrawn"),
    pytest.param(_freeze, "It is set for publication", id="frozen"),
    pytest.param(_no_time, "The time for changing it is over", id="too-late"),
]


@pytest.mark.parametrize(("put", "reason"), REFUSED)
def test_an_answer_that_cannot_change_says_why(
    person: Enrollment, put: Callable[[Enrollment], None], reason: str
) -> None:
    assert "Change this answer" in links(at(person, "answers/"))
    put(person)

    browser = at(person, "answers/")

    assert reason in text_of(cards(browser)[0])
    assert "Change this answer" not in links(browser)


def test_the_list_asks_the_database_as_often_for_one_answer_as_for_many() -> None:
    study = builders.make_study(stories=12)
    (person,) = builders.qualified(study, now=ago(100))
    counts = []
    for number in range(12):
        answer(person, after=ago(90 - number))
        if number in (0, 11):
            with CaptureQueriesContext(
                connection,
            ) as captured:
                browser = at(person, "answers/")
            assert len(cards(browser)) == number + 1
            counts.append(len(captured))

    assert counts == [3, 3]  # the person; the votes with their stories; all answers


# Changing


def test_a_change_over_http(person: Enrollment) -> None:
    browser = at(person, "answers/")
    browser.open(links(browser)["Change this answer"])
    assert browser.heading == "Change an answer"
    assert checked(browser) == builders.ALL_YES

    browser.press("Save the change", q2="no")

    changed = Vote.objects.get(revision=2).assignment_id
    assert (browser.path, browser.heading) == (f"/answers/?changed={changed}", "Your answers")
    (said,) = browser.document.xpath("//*[@role='alert']")
    assert "Your change is saved" in said.text_content()
    assert "You can change it until" in browser.document.text_content()
    assert not at(person, "answers/?changed=999").document.xpath("//*[@role='alert']")
    newest = Vote.objects.get(revision=2)
    assert dict(newest.answers.values_list("question", "option")) == builders.answers(q2="no")
    assert newest.seconds_on_task == 40
    browser.open(links(browser)["Change this answer"])
    assert checked(browser) == builders.answers(q2="no")
    assert not any(page.cookies for page in browser.pages)


def test_a_change_sent_twice_is_stored_once_and_a_late_one_undoes_nothing(person: Enrollment) -> None:
    vote = Vote.objects.get()
    browser = at(person, f"answers/{vote.assignment_id}/")
    url, draft = browser.url, browser.document.xpath("//form/@data-draft")[0]
    seen = {"revision": browser.document.xpath("//input[@name='revision']/@value")[0]}

    def send(form: dict[str, str]) -> Any:
        return browser.client.post(url, form | seen, headers={"HX-Request": "true"})

    for _ in range(2):
        sent = send(NO)
        assert sent["X-Stored-Assignment"] == draft
        assert sent["HX-Redirect"].endswith(f"?changed={vote.assignment_id}")
    assert Vote.objects.count() == 2

    late = send(builders.answers(q2="possibly"))
    assert late.status_code == 409
    assert late["X-Unknown-Assignment"] == draft
    assert "in another window" in late.content.decode()
    assert Vote.objects.count() == 2


def test_what_is_missing_is_said_and_nothing_is_stored(
    person: Enrollment, no_writes: Callable[[], None]
) -> None:
    vote = Vote.objects.get()
    browser = at(person, f"answers/{vote.assignment_id}/")

    response = browser.open(browser.url, {"q1": "no", "q2": "perhaps", "q4": "no"})

    assert response.status_code == 422
    assert checked(browser) == {"q1": "no", "q4": "no"}
    (summary,) = browser.document.xpath("//*[@role='alert'][not(@hidden)]")
    assert [link.get("href") for link in summary.xpath(".//a")] == ["#field-q2", "#field-q3"]
    no_writes()


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize(("put", "reason"), REFUSED)
def test_a_change_that_is_too_late_gets_a_page(
    person: Enrollment, put: Callable[[Enrollment], None], reason: str, method: str
) -> None:
    put(person)
    browser = Browser()
    url = f"/work/{token_of(person)}/answers/{Vote.objects.get().assignment_id}/"

    response = browser.open(url, NO if method == "POST" else None)

    assert (response.status_code, browser.heading) == (409, "This answer can’t be changed")
    assert reason in response.content.decode()
    assert links(browser)["Continue"].endswith("/stories/")
    assert Vote.objects.count() == 1


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_only_ones_own_answers_have_such_a_page(study: Study, person: Enrollment, method: str) -> None:
    (other,) = builders.qualified(study)
    unanswered = builders.claim(other)
    theirs = Vote.objects.get().assignment_id
    before = Vote.objects.count()

    for assignment_id in (theirs, unanswered.pk, 0, 10**25):
        browser = Browser()
        url = f"/work/{token_of(other)}/answers/{assignment_id}/"
        response = browser.open(url, NO if method == "POST" else None)
        assert (response.status_code, browser.heading) == (404, "Nothing to change")

    assert Vote.objects.count() == before


# One's own place


def test_the_own_page_says_who_one_is_here(person: Enrollment) -> None:
    actions.add_consent_text(study=person.study, text="Newer.", by=None, now=timezone.now())

    browser = at(person, "you/")

    assert fact(browser, "Your status") == "qualified"
    assert fact(browser, "You agreed to").startswith("consent text 1, ")
    assert fact(browser, "Stories you finished") == "1"
    assert fact(browser, "Stories you can still answer") == "2"
    assert fact(browser, "Your pace") == "40 seconds per story"
    assert fact(browser, "Estimated earnings for stories") == ""


def test_pay_is_estimated_where_the_study_pays() -> None:
    study = builders.make_study(stories=3, pay_rate=Decimal("15.00"), currency="EUR")
    (person,) = builders.qualified(study, now=ago(60))
    browser = at(person, "you/")
    assert fact(browser, "Estimated earnings for stories") == ""

    for number, seconds in enumerate((20, 60, 600)):  # the median does not mind the lunch
        answer(person, after=ago(50 - 12 * number), seconds=seconds)

    for page in ("you/", "done/"):
        browser = at(person, page)
        assert fact(browser, "Your pace") == "60 seconds per story"
        assert fact(browser, "Estimated earnings for stories") == "EUR 0.75"


def test_changing_an_answer_earns_nothing_and_slows_nobody(person: Enrollment) -> None:
    vote = Vote.objects.get()
    actions.change_vote(assignment_id=vote.assignment_id, enrollment=person, submitted=NO, now=timezone.now())

    browser = at(person, "you/")

    assert fact(browser, "Stories you finished") == "1"
    assert fact(browser, "Your pace") == "40 seconds per story"


# Leaving


@pytest.mark.parametrize("page", ["withdraw/", "forget/", "you/", "answers/", "done/"])
def test_looking_changes_nothing(person: Enrollment, no_writes: Callable[[], None], page: str) -> None:
    browser = at(person, page)
    browser.client.head(browser.url)

    assert browser.page.status_code == 200
    no_writes()


def test_leaving_over_http(study: Study, person: Enrollment) -> None:
    story = builders.claim(person)
    browser = at(person, "you/")
    browser.open(links(browser)["Leave the study"])
    assert browser.heading == "Leave the study?"

    browser.press("Leave the study")

    assert (browser.path, browser.heading) == ("/stories/", "You have left this study")
    person.refresh_from_db()
    assert person.state == Enrollment.State.WITHDRAWN
    url = f"/work/{token_of(person)}/stories/"
    browser.open(url, {"assignment": str(story.pk)} | builders.ALL_YES)
    assert browser.heading == "You have left this study"
    assert b"Saved at" in browser.page.content
    assert "doesn’t decide about the story." in browser.page.content.decode()
    browser.open(f"/work/{token_of(person)}/you/")
    assert (fact(browser, "Your status"), fact(browser, "Stories you finished")) == ("withdrawn", "2")
    assert "Leave the study" not in links(browser)
    assert "Leave and delete my personal data" in links(browser)


def test_being_forgotten_over_http(person: Enrollment) -> None:
    set_email(annotator=person.annotator, environment="live", address="ada@example.org", now=timezone.now())
    browser = at(person, "you/")
    browser.open(links(browser)["Leave and delete my personal data"])
    assert browser.heading == "Leave and delete your personal data?"

    for _ in range(2):
        browser.open(f"/work/{token_of(person)}/forget/", {})
        assert (browser.page.status_code, browser.heading) == (410, "Your personal data has been deleted")

    assert not PlatformIdentity.objects.exists()
    assert Annotator.objects.get(pk=person.annotator_id).erased_at is not None
    assert Vote.objects.counted().count() == 1


@pytest.mark.parametrize("page", ["", "you/", "you/email/", "answers/", "stories/", "done/"])
def test_every_address_of_somebody_forgotten_is_dead(person: Enrollment, page: str) -> None:
    before = [personal_link(person), f"/work/{token_of(person)}/{page}"]
    actions.forget(annotator=person.annotator, now=timezone.now())
    browser = Browser()

    for address in before:
        browser.open(address)
        assert (browser.page.status_code, browser.heading) == (410, "Your personal data has been deleted")
        assert not browser.document.xpath("//main//form")
        assert not browser.document.xpath("//main//a[contains(@href, 'again')]")
    assert not PlatformIdentity.objects.exists()


# What pages share


@pytest.mark.parametrize("page", ["answers/", "answers/{vote}/", "you/", "withdraw/", "forget/", "done/"])
def test_the_part_for_htmx_is_that_part_of_the_whole_page(person: Enrollment, page: str) -> None:
    url = f"/work/{token_of(person)}/" + page.format(vote=Vote.objects.get().assignment_id)
    browser = Browser()
    browser.open(url)
    whole = browser.document.xpath("//*[@id='work']")
    part = html.fragment_fromstring(browser.open(url, htmx=True).content.decode().strip())

    assert len(whole) == 1
    assert part.get("id") == "work"
    assert html.tostring(part, with_tail=False) == html.tostring(whole[0], with_tail=False)


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
        assert ("· about EUR 0.10 earned" in said) is earned
        assert ("· about" in said) is earned


def test_a_small_milestone_is_thanked_for_once() -> None:
    (person,) = builders.qualified(builders.make_study(stories=4))
    browser = at(person, "stories/")

    def milestone() -> list[str]:
        return [" ".join(p.text_content().split()) for p in browser.document.xpath("//p[@class='milestone']")]

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
        pytest.param([40, 30, 20, 10, 5], 0, id="not-long-enough"),
        pytest.param([70, 60, 36, 26, 16, 6], 0, id="after-a-break"),
        pytest.param([60, 50, 40, 30, 20], 0, id="back-from-a-break"),
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
