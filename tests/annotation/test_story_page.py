"""The form about a story: sent, sent again, incomplete, late, and swapped in by htmx."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.http import HttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from lxml import html

from annotation import actions
from annotation.models import Enrollment, Study, Vote
from tests import builders
from tests.annotation.pages import Browser, arrive, at, token_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("client")]


def _invited(study: Study) -> Enrollment:
    return builders.invite(study)[0]


def _too_late(study: Study) -> Enrollment:
    other, person = builders.qualified(study, 2)
    builders.vote(other)
    return person


def work_of(page: HttpResponse) -> str:
    """The part of a page that htmx swaps, in one spelling."""
    document: Any = html.document_fromstring(page.content.decode())
    (work,) = document.xpath("//*[@id='work']")
    return " ".join(html.tostring(work, encoding="unicode", with_tail=False).split())


def test_an_incomplete_form_keeps_what_was_chosen_and_names_what_is_missing() -> None:
    (person,) = builders.qualified(builders.make_study())
    browser = at(person, "stories/")

    browser.press("Save", q1="possibly", q3="no")

    assert browser.page.status_code == 422
    assert browser.forms[0].get("novalidate") is not None, "this page says it, not a bubble of the browser"
    assert browser.document.xpath("//input[@type='radio' and @checked]/@id") == ["q1-possibly", "q3-no"]
    links = browser.document.xpath("//*[@role='alert']//a")
    assert [link.get("href") for link in links] == ["#field-q2", "#field-q4"]
    assert all("Please choose an answer." in link.text_content() for link in links)
    assert len(browser.document.xpath("//*[@id='field-q2' or @id='field-q4']")) == 2
    assert not Vote.objects.exists()

    browser.press("Save", q2="yes", q4="yes")
    stored = dict(Vote.objects.get().answers.values_list("question", "option"))
    assert stored == {"q1": "possibly", "q2": "yes", "q3": "no", "q4": "yes"}


def test_a_form_sent_again_gives_the_same_receipt() -> None:
    (person,) = builders.qualified(builders.make_study())
    browser = at(person, "stories/")
    url = browser.url
    form = builders.ALL_YES | {"assignment": browser.document.xpath("//input[@name='assignment']/@value")[0]}

    receipts = []
    for _ in range(3):
        browser.open(url, form)
        receipts.append(browser.document.xpath("//*[@class='receipt']//time/@datetime"))

    assert receipts[0] == receipts[1] == receipts[2]
    assert len(receipts[0]) == 1
    assert Vote.objects.count() == 1


def test_a_late_answer_says_that_it_is_kept_but_does_not_decide() -> None:
    study = builders.make_study(stories=2, votes_per_story=1)
    one, two = builders.qualified(study, 2)
    hour_ago = timezone.now() - timedelta(hours=1)
    late = builders.claim(one, now=hour_ago)
    builders.vote(two)
    browser = Browser()

    browser.open(f"/work/{token_of(one)}/stories/", builders.ALL_YES | {"assignment": str(late.pk)})

    assert b"Your answer is kept and credited to you" in browser.page.content


def part_and_full(person: Enrollment, page: str) -> tuple[HttpResponse, HttpResponse]:
    """The same address asked for by htmx, and as a whole page."""
    browser = at(person, page)
    return browser.open(browser.url, htmx=True), browser.open(browser.url)


@pytest.mark.parametrize(
    ("written", "read", "note"),
    [
        ("en", "de", ""),  # in words of the catalogue
        ("de", "en", "The researchers wrote the text below in German."),
        ("fr", "en", "The researchers wrote the text below in the language of the stories (fr)."),
        ("en-GB", "en", None),
    ],
)
def test_the_consent_page_says_which_language_its_text_is_in(
    written: str, read: str, note: str | None
) -> None:
    person = _invited(builders.make_study(story_language=written))
    page = Client(headers={"Accept-Language": read}).get(f"/work/{token_of(person)}/consent/")
    document: Any = html.document_fromstring(page.content.decode())
    assert document.xpath("//*[@class='prose']/@lang") == [written]
    _version, *notes = document.xpath("//*[@class='prose']/preceding-sibling::p/text()")
    assert len(notes) == (note is not None)
    assert not note or notes[0].strip() == note


def test_the_next_story_in_a_receipt_equals_a_full_reload() -> None:
    study = builders.make_study(stories=2)
    (person,) = builders.qualified(study)
    browser = at(person, "stories/")
    form = builders.ALL_YES | {"assignment": browser.document.xpath("//input[@name='assignment']/@value")[0]}
    url = browser.url

    part = browser.open(url, form, htmx=True)
    full = browser.open(f"{url}?receipt={Vote.objects.get().pk}")

    assert part.status_code == 200
    assert work_of(part) == work_of(full)
    assert "Story 2" in work_of(part)


def test_the_part_that_htmx_swaps_equals_the_part_of_the_full_page() -> None:
    study = builders.make_study()
    (qualified,) = builders.qualified(study)
    declined = actions.decline_consent(enrollment=_invited(study), now=timezone.now())
    for page, person in {
        "stories/": qualified,
        "instructions/": qualified,
        "done/": qualified,
        "consent/": _invited(study),
        "declined/": declined,
    }.items():
        part, full = part_and_full(person, page)
        assert work_of(part) == work_of(full), page
        assert b"<html" in full.content
        assert b"<html" not in part.content, page


def test_a_refusal_as_a_part_equals_the_full_page() -> None:
    person = _too_late(builders.make_study(stories=1, votes_per_story=1))

    part, full = part_and_full(person, "stories/")

    assert work_of(part) == work_of(full)


def test_a_receipt_in_the_address_is_shown_to_its_owner_only() -> None:
    one, two = builders.qualified(builders.make_study(), 2)
    vote = builders.vote(one).vote

    assert b"Saved at" in at(one, f"stories/?receipt={vote.pk}").page.content
    assert b"Saved at" not in at(two, f"stories/?receipt={vote.pk}").page.content


def test_no_page_tells_who_else_takes_part_or_what_the_study_keeps_secret() -> None:
    study = builders.make_study(stories=2)
    (person,) = builders.qualified(study)
    browser = at(person, "stories/")
    browser.press("Save", **builders.ALL_YES)

    for page in browser.pages:
        text = page.content.decode()
        assert study.pseudonym_key not in text
        assert "annotator-" not in text
        assert "content_hash" not in text


def test_consent_to_an_older_text_is_asked_again() -> None:
    study = builders.make_study()
    browser = arrive(builders.invite(study)[0])
    actions.add_consent_text(study=study, text="Newer.", by=None, now=timezone.now())

    browser.press("I agree")

    assert browser.page.status_code == 409
    assert "read it again" in browser.page.content.decode()
    assert Enrollment.objects.get().state == Enrollment.State.INVITED


def test_somebody_who_declined_may_change_their_mind() -> None:
    browser = arrive(builders.invite(builders.make_study())[0])
    browser.press("I do not agree")
    assert browser.path == "/declined/"

    browser.open(browser.document.xpath("//main//a[contains(@href, 'consent')]/@href")[0])
    browser.press("I agree")

    assert Enrollment.objects.get().state == Enrollment.State.QUALIFIED


def test_only_reading_and_sending_are_understood() -> None:
    (person,) = builders.qualified(builders.make_study())
    assert Browser().client.delete(f"/work/{token_of(person)}/stories/").status_code == 405


def _queries_of_a_submit(person: Enrollment) -> int:
    browser = at(person, "stories/")
    form = builders.ALL_YES | {"assignment": browser.document.xpath("//input[@name='assignment']/@value")[0]}
    with CaptureQueriesContext(connection) as queries:
        browser.open(browser.url, form, htmx=True)
    assert b"Saved at" in browser.page.content
    return len(queries)


MOST_QUERIES = 9
"""Of one request that stores an answer and shows the next story: savepoints of the tests included."""


def test_a_submit_costs_the_same_few_queries_however_large_the_study() -> None:
    small, large = builders.make_study("small", stories=3), builders.make_study("large", stories=40)
    (one,), (two,) = builders.qualified(small), builders.qualified(large)
    for other in builders.qualified(large, 2):
        builders.vote(other)
    for _ in range(4):
        builders.vote(two)

    few, many = _queries_of_a_submit(one), _queries_of_a_submit(two)

    assert few == many
    assert few <= MOST_QUERIES


def test_texts_put_into_the_rendered_questions_are_shown_as_they_are() -> None:
    """The questions are rendered once for all stories, with characters for private use where texts go."""
    hostile = "Is \ue000story\ue001 1 < 2 & 3 > 2, \\1 or {{ x }}?"
    rows = [builders.story_row(0), builders.story_row(1) | {"question": hostile}, builders.story_row(2)]
    (person,) = builders.qualified(builders.make_study(stories=rows))

    browser, shown = at(person, "stories/"), set()
    for _story in rows:
        shown.add(browser.document.xpath("string(//*[@id='part-question'])"))
        browser.press("Save", **builders.ALL_YES)

    assert shown == {row["question"] for row in rows}
