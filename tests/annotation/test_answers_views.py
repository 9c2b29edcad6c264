"""A person's list of answers, and changing one, over HTTP, with all cookies blocked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotation import actions, queries
from annotation.models import Enrollment, Study, Vote
from tests import builders
from tests.annotation.pages import Browser, ago, answer, at, text_of, token_of
from tests.worlds import built_once

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("client")]

NO = builders.answers(q1="no", q4="no")


@pytest.fixture
@built_once
def person() -> Enrollment:
    """Has answered one story half an hour ago, in 40 seconds."""
    (person,) = builders.qualified(builders.make_study(stories=3), now=ago(31))
    answer(person, after=ago(31), seconds=40)
    return Enrollment.objects.select_related("study").get(pk=person.pk)


@pytest.fixture
def study(person: Enrollment) -> Study:
    return person.study


def cards(browser: Browser) -> list[Any]:
    return list(browser.document.xpath("//section[contains(@class, 'card')]"))


def links(browser: Browser) -> dict[str, str]:
    return {text_of(link): link.get("href") for link in browser.document.xpath("//main//a")}


def checked(browser: Browser) -> dict[str, str]:
    return {i.get("name"): i.get("value") for i in browser.document.xpath("//input[@type='radio'][@checked]")}


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
    assert "Saved on" in text_of(card)


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


def _freeze(person: Enrollment) -> None:
    actions.freeze_answers(study=person.study, now=timezone.now())


def _no_time(person: Enrollment) -> None:
    Study.objects.update(change_hours=0)


REFUSED = [
    pytest.param(_suspend, "Your participation is paused or has ended", id="suspended"),
    pytest.param(_freeze, "It has been published", id="frozen"),
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
    study = builders.make_study(stories=4)
    (person,) = builders.qualified(study, now=ago(100))
    counts = []
    for number in range(4):
        answer(person, after=ago(90 - number))
        if number in (0, 3):
            with CaptureQueriesContext(connection) as captured:
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


def test_a_change_that_is_too_late_gets_a_page(person: Enrollment) -> None:
    _freeze(person)
    browser = Browser()
    url = f"/work/{token_of(person)}/answers/{Vote.objects.get().assignment_id}/"

    for form in (None, NO):
        response = browser.open(url, form)
        assert (response.status_code, browser.heading) == (409, "This answer can’t be changed")
        assert "It has been published" in response.content.decode()
        assert links(browser)["Continue"].endswith("/stories/")
    assert Vote.objects.count() == 1


def test_only_ones_own_answers_have_such_a_page(study: Study, person: Enrollment) -> None:
    (other,) = builders.qualified(study)
    unanswered = builders.claim(other)
    theirs = Vote.objects.get().assignment_id
    before = Vote.objects.count()

    for assignment_id in (theirs, unanswered.pk, 10**25):
        for form in (None, NO):
            browser = Browser()
            response = browser.open(f"/work/{token_of(other)}/answers/{assignment_id}/", form)
            assert (response.status_code, browser.heading) == (404, "Nothing to change")

    assert Vote.objects.count() == before
