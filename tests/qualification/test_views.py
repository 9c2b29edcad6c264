"""The pages of the test over HTTP: every way through them, and that the key stays at home."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from django.utils import timezone

from annotation import actions as annotation_actions
from annotation.models import Enrollment, Study
from qualification.models import Attempt
from tests import builders
from tests.annotation.pages import Browser, at, token_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("client")]


def consented(study: Study) -> Enrollment:
    return builders.consent(builders.invite(study)[0])


def in_the_test(study: Study) -> Browser:
    """A browser on the first story of the test."""
    browser = at(consented(study))
    browser.press("Start the test")
    return browser


@pytest.fixture(scope="module")
def built(module_transaction: None) -> Study:
    return builders.make_study(qualification=2)


@pytest.fixture
def study(built: Study) -> Study:
    """The study as the database has it; what a test does to it is rolled back."""
    return Study.objects.get(pk=built.pk)


def test_looking_at_the_introduction_starts_nothing(study: Study) -> None:
    browser = at(consented(study), "qualification/")

    assert browser.page.status_code == 200
    said = " ".join(browser.document.text_content().split())
    assert "You pass if all 8 answers are ones that the researchers accept." in said
    assert "particular" not in said
    assert not Attempt.objects.exists()


def test_the_introduction_says_when_one_passes() -> None:
    rows = [builders.story_row(number, prefix="test") for number in range(2)]
    mark = {"enough": 7, "must_pass": [rows[1]["story_id"]]}
    marked = builders.make_study("marked", qualification={"rows": rows, **mark})
    browser = at(consented(marked), "qualification/")
    said = " ".join(browser.document.text_content().split())
    assert "You pass if at least 7 of your 8 answers are ones that the researchers accept." in said
    assert "For one particular story, every answer must be acceptable." in said


def test_an_incomplete_story_keeps_what_was_chosen(study: Study) -> None:
    browser = in_the_test(study)

    browser.press("Save", q1="possibly")

    assert browser.page.status_code == 422
    assert browser.document.xpath("//input[@type='radio' and @checked]/@id") == ["q1-possibly"]
    links = browser.document.xpath("//*[@role='alert']//a/@href")
    assert links == ["#field-q2", "#field-q3", "#field-q4"]


def test_answers_are_there_when_one_comes_back_and_what_is_missing_is_shown(study: Study) -> None:
    browser = in_the_test(study)
    browser.press("Save", **builders.answers(q2="possibly"))
    work = f"/work/{token_of(Enrollment.objects.get())}/"

    browser.open(work)
    assert browser.path == "/qualification/2/"
    browser.open(f"{work}qualification/1/")
    assert "q2-possibly" in browser.document.xpath("//input[@type='radio' and @checked]/@id")
    browser.open(f"{work}qualification/review/")
    assert browser.page.content.count(b"not answered") == 4
    browser.open(f"{work}qualification/review/", {})
    assert browser.path == "/qualification/review/"
    assert Attempt.objects.get().state == Attempt.State.STARTED
    for position in (0, 3, 99):
        assert browser.open(f"{work}qualification/{position}/").status_code == 404


def test_failing_ends_with_thanks_and_no_way_on(study: Study) -> None:
    person = builders.take_test(consented(study), builders.answers(q3="no"))
    browser = at(person, "qualification/")

    assert browser.path == "/qualification/result/"
    assert browser.heading == "Thank you for trying"
    assert not browser.document.xpath("//main//a[contains(@class, 'button')]")


def test_handing_in_twice_shows_the_one_result_and_changes_nothing(study: Study) -> None:
    browser = in_the_test(study)
    first = browser.url
    for _ in range(2):
        browser.press("Save", **builders.ALL_YES)
    review = browser.url
    browser.press("Hand in")
    for page in browser.pages:
        if page.status_code == 200:
            assert page.content.count(b'id="work"') == 1, "the part that htmx swaps"

    browser.open(review, {})
    assert browser.heading == "You passed"

    sent = browser.open(first, builders.answers(q3="no"))
    assert sent.status_code == 409
    assert browser.heading == "These answers were not saved"
    assert b"handed in from another window" in sent.content
    assert not Attempt.objects.get().answers.filter(option="no").exists()


def sent_by_script(browser: Browser, url: str, form: dict[str, str]) -> Any:
    """Send a form as drafts.js does, and return the response."""
    return browser.client.post(url, form, headers={"HX-Request": "true"})


def form_of(browser: Browser, **answers: str) -> dict[str, str]:
    """The page's form as the browser would send it: with its hidden fields."""
    hidden = browser.document.xpath("//form[@data-draft]//input[@type='hidden']")
    return {field.get("name"): field.get("value") for field in hidden} | answers


def draft_of(browser: Browser) -> str:
    (name,) = browser.document.xpath("//form/@data-draft")
    return str(name)


def test_a_form_sent_twice_is_stored_once_and_never_undoes_newer_answers(study: Study) -> None:
    browser = in_the_test(study)
    url, draft = browser.url, draft_of(browser)
    form, old = (form_of(browser, **said) for said in (builders.ALL_YES, builders.answers(q1="no")))

    first = sent_by_script(browser, url, form)
    rows = list(Attempt.objects.get().answers.values_list("pk", flat=True))
    again = sent_by_script(browser, url, form)

    for response in (first, again):
        assert response["X-Stored-Assignment"] == draft
        assert response["HX-Redirect"].endswith("/qualification/2/")
    assert list(Attempt.objects.get().answers.values_list("pk", flat=True)) == rows

    late = sent_by_script(browser, url, old)
    assert late.status_code == 409
    assert late["X-Unknown-Assignment"] == draft
    assert not Attempt.objects.get().answers.filter(option="no").exists()


def test_forms_of_a_failed_attempt_never_become_part_of_the_next() -> None:
    browser = in_the_test(builders.make_study("again", qualification={"rows": 1, "attempts_allowed": 2}))
    url, wrong = browser.url, form_of(browser, **builders.answers(q3="no"))
    browser.press("Save", **builders.answers(q3="no"))
    review = browser.url
    (attempt,) = browser.document.xpath("//form//input[@name='attempt']/@value")
    browser.press("Hand in")
    browser.open(browser.document.xpath("//main//a[contains(@class, 'button')]/@href")[0])
    assert browser.path == "/qualification/", "an attempt that is left is offered"
    browser.press("Start the test")
    assert not browser.document.xpath("//input[@type='radio' and @checked]")
    second = Attempt.objects.latest("pk")
    assert second.number == 2

    late = sent_by_script(browser, url, wrong)
    assert late.status_code == 409
    assert not second.answers.exists()

    browser.press("Save", **builders.ALL_YES)
    browser.open(review, {"attempt": attempt})
    assert browser.heading == "Thank you for trying"
    second.refresh_from_db()
    assert second.state == Attempt.State.STARTED
    browser.open(review, {"attempt": str(second.pk)})
    assert browser.heading == "You passed"


def _suspend(person: Enrollment) -> None:
    annotation_actions.suspend(enrollment=person, by=None, now=timezone.now(), reason="too fast")


def _withdraw(person: Enrollment) -> None:
    annotation_actions.withdraw(enrollment=person, now=timezone.now())


ENDS = {
    "suspended": (_suspend, "You can’t continue right now"),
    "withdrawn": (_withdraw, "You have left this study"),
}


@pytest.mark.parametrize(("end", "heading"), ENDS.values(), ids=ENDS)
def test_the_pages_of_the_test_are_shut_to_whoever_is_out_of_it(study: Study, end: Any, heading: str) -> None:
    browser = in_the_test(study)
    browser.press("Save", **builders.ALL_YES)
    end(Enrollment.objects.get())

    sent = browser.press("Save", **builders.ALL_YES)

    assert sent.status_code == 409
    assert browser.heading == "These answers were not saved"
    assert b"What you saved before is kept." in sent.content
    kept = set(Attempt.objects.get().answers.values_list("round_story__position", flat=True))
    assert kept == {1}
    browser.open(browser.document.xpath("//a[contains(@class, 'button')]/@href")[0])
    assert browser.heading == heading
    for page in ("", "1/", "review/", "result/"):
        browser.open(f"/work/{token_of(Enrollment.objects.get())}/qualification/{page}")
        assert (browser.heading, browser.path) == (heading, "/stories/"), page
    browser.open(f"/work/{token_of(Enrollment.objects.get())}/qualification/review/", {})
    assert browser.heading == heading
    assert Attempt.objects.get().state == Attempt.State.STARTED


def test_a_study_that_stops_starts_no_test_and_invites_nobody_to_it(study: Study) -> None:
    person = consented(study)
    browser = at(person)
    annotation_actions.pause_study(study=study, by=None, now=timezone.now())

    browser.press("Start the test")

    assert browser.heading == "The study is paused"
    assert not Attempt.objects.exists()
    annotation_actions.close_study(study=study, by=None, now=timezone.now())
    browser = at(person)
    assert browser.heading == "The study is finished"
    assert not browser.forms


def test_the_inner_pages_lead_back_to_somebody_who_has_not_begun(study: Study) -> None:
    person = consented(study)
    for page in ("1/", "review/", "result/"):
        assert at(person, f"qualification/{page}").path == "/qualification/"


def test_the_key_never_leaves_the_server() -> None:
    """Two people see the very same pages, though the one's key accepts everything the other's refuses."""
    accepts_yes = {name: ["yes"] for name in builders.ALL_YES}
    accepts_no = {name: ["no"] for name in builders.ALL_YES}
    seen = []
    for slug, key in (("one", accepts_yes), ("two", accepts_no)):
        rows = [builders.story_row(number, prefix="test") for number in range(2)]
        study = builders.make_study(
            slug,
            qualification={
                "rows": rows,
                "key": {row["story_id"]: key for row in rows},
                "attempts_allowed": 9,
            },
        )
        browser = in_the_test(study)
        browser.press("Save", q1="no")
        browser.press("Save", **builders.answers(q1="no"))
        browser.press("Save", **builders.answers(q4="no"))
        browser.press("Hand in")
        assert browser.heading == "Thank you for trying"
        token = token_of(Enrollment.objects.get(study=study))
        for page in ("", "instructions/", "qualification/", "qualification/result/"):
            browser.open(f"/work/{token}/{page}")
        seen.append([_without_addresses(page) for page in browser.pages])

    assert len(seen[0]) == len(seen[1])
    assert seen[0] == seen[1]


def _without_addresses(page: Any) -> tuple[int, str]:
    """Status and text of a page, with what differs between any two people taken out."""
    text = re.sub(r"/(work|join)/[^/\"]+/", "/…/", page.content.decode())
    text = re.sub(r'"test(\.\d+){3}"|name="(attempt|saved)"\s+value="\d+"', "…", text)
    return page.status_code, text


def test_the_words_of_the_key_are_in_no_response(study: Study) -> None:
    annotation_actions.pause_study(study=study, by=None, now=timezone.now())
    marked = builders.add_round(
        study,
        [builders.story_row(7, prefix="marked")],
        reasons={"marked_00007_sev1": {"q1": "REASON-THE-TIN-IS-SEALED"}},
        note="BECAUSE-THE-TIN-IS-SEALED",
    )
    annotation_actions.open_study(study=study, by=None, now=timezone.now())
    assert marked.number == 2

    browser = in_the_test(study)
    browser.press("Save", q1="no")
    browser.press("Save", **builders.answers(q1="no"))
    browser.press("Hand in")

    for page in browser.pages:
        text = page.content.decode() + json.dumps(dict(page.headers))
        for mark in ("THE-TIN", "not_accepted", "acceptable", "AnswerKey", "answer_key"):
            assert mark not in text
