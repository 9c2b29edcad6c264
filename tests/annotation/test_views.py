"""The annotator's pages over HTTP, with all cookies blocked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone
from lxml import html

from annotation import actions
from annotation.models import Assignment, Enrollment, Study, Vote
from recruitment.models import Visit
from tests import builders
from tests.annotation.pages import Browser, arrive, at, token_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("client")]


def test_the_whole_journey_without_a_cookie_or_a_script() -> None:
    study = builders.make_study(stories=2, qualification=2)
    (person,) = builders.invite(study)

    browser = arrive(person)
    assert (browser.path, browser.heading) == ("/consent/", "Do you agree to take part?")
    browser.press("I agree")
    assert browser.path == "/instructions/"
    shown = browser.document.xpath("//details[@open]//div[@class='example']")
    assert len(shown) == 10, "every worked example is seen without a press"
    browser.open(browser.document.xpath("//a[contains(@class, 'button')]/@href")[-1])
    assert (browser.path, browser.heading) == ("/qualification/", "First, 2 test stories")
    browser.press("Start the test")
    for position in (1, 2):
        assert browser.path == f"/qualification/{position}/"
        browser.press("Save", **builders.ALL_YES)
    assert (browser.path, browser.heading) == ("/qualification/review/", "Check your answers")
    browser.press("Hand in")
    assert (browser.path, browser.heading) == ("/qualification/result/", "You passed")
    browser.open(browser.document.xpath("//a[contains(@class, 'button')]/@href")[0])
    for number in (1, 2):
        assert (browser.path.split("?")[0], browser.heading) == ("/stories/", f"Story {number}")
        browser.press("Save", **builders.answers(q1="possibly"))
        assert b"Saved at" in browser.page.content
    assert browser.heading == "There are no stories left for you"
    browser.open(f"/work/{token_of(person)}/done/")
    assert "You’ve finished 2 stories, and they are saved." in browser.page.content.decode()

    assert all(page.status_code in (200, 302) for page in browser.pages)
    assert not any(page.cookies for page in browser.pages)
    assert Vote.objects.counted().count() == 2
    assert Visit.objects.count() == 1


def test_every_page_forbids_framing_scripts_and_caching() -> None:
    study = builders.make_study(stories=1, qualification=1)
    (person,) = builders.invite(study)
    browser = arrive(person)
    browser.press("I agree")
    browser.open(f"/work/{token_of(person)}/")
    browser.press("Start the test")
    browser.press("Save", **builders.ALL_YES)
    browser.press("Hand in")
    browser.open(f"/work/{token_of(person)}/stories/")
    browser.press("Save")
    browser.open("/work/nonsense/stories/")

    assert {page.status_code for page in browser.pages} == {200, 302, 404, 422}
    for page in browser.pages:
        assert page.headers["X-Frame-Options"] == "DENY"
        assert page.headers["Referrer-Policy"] == "same-origin"
        assert page.headers["X-Content-Type-Options"] == "nosniff"
        policy = page.headers["Content-Security-Policy"]
        assert "default-src 'self'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert "://" not in policy
        if "nonsense" not in page.request["PATH_INFO"]:  # type: ignore[attr-defined]
            assert "no-store" in page.headers["Cache-Control"]
        document: Any = html.document_fromstring(page.content) if page.content else None
        if document is not None:
            assert not document.xpath("//script[not(@src)] | //style | //*[@style]")
            assert not [
                name for name in document.xpath("//@*") if getattr(name, "attrname", "").startswith("on")
            ]
            assert not document.xpath("//*[starts-with(@src, 'http') or starts-with(@href, 'http')]")


def _invited(study: Study) -> Enrollment:
    return builders.invite(study)[0]


def _declined(study: Study) -> Enrollment:
    return actions.decline_consent(enrollment=_invited(study), now=timezone.now())


def _consented(study: Study) -> Enrollment:
    return builders.consent(_invited(study))


def _failed(study: Study) -> Enrollment:
    return builders.take_test(_consented(study), builders.answers(q4="no"))


def _suspended(study: Study) -> Enrollment:
    return actions.suspend(
        enrollment=builders.qualified(study)[0], by=None, now=timezone.now(), reason="too fast"
    )


def _asked_again(study: Study) -> Enrollment:
    (person,) = builders.qualified(study)
    actions.add_consent_text(study=study, text="Newer.", by=None, now=timezone.now())
    return person


def _paused(study: Study) -> Enrollment:
    (person,) = builders.qualified(study)
    actions.pause_study(study=study, by=None, now=timezone.now())
    return person


def _closed(study: Study) -> Enrollment:
    (person,) = builders.qualified(study)
    actions.close_study(study=study, by=None, now=timezone.now())
    return person


def _capped(study: Study) -> Enrollment:
    (person,) = builders.qualified(study)
    builders.vote(person)
    Study.objects.filter(pk=study.pk).update(story_cap=1)
    return person


def _too_late(study: Study) -> Enrollment:
    other, person = builders.qualified(study, 2)
    builders.vote(other)
    return person


def _outnumbered(study: Study) -> Enrollment:
    other, person = builders.qualified(study, 2)
    builders.claim(other)
    return person


def _rehearsing(study: Study) -> Enrollment:
    (person,) = builders.qualified(study)
    Enrollment.objects.filter(pk=person.pk).update(environment="rehearsal")
    return person


@pytest.mark.parametrize(
    ("put", "path", "heading"),
    [
        (_invited, "/consent/", "Do you agree to take part?"),
        (_declined, "/declined/", ""),
        (_consented, "/qualification/", "First, 1 test story"),
        (_failed, "/qualification/result/", "Thank you for trying"),
        (_asked_again, "/consent/", "Do you agree to take part?"),
        (_suspended, "/stories/", "You can’t continue right now"),
        (_paused, "/stories/", "The study is paused"),
        (_closed, "/stories/", "The study is finished"),
        (_capped, "/stories/", "You’ve answered your share"),
        (_too_late, "/stories/", "There are no stories left for you"),
        (_outnumbered, "/stories/", "No story is free right now"),
        (_rehearsing, "/stories/", "This link belongs to a test run"),
    ],
)
def test_everybody_is_led_to_the_page_that_says_where_they_stand(
    put: Callable[[Study], Enrollment], path: str, heading: str
) -> None:
    has_test = path.startswith("/qualification/")
    study = builders.make_study(stories=1, qualification=int(has_test), votes_per_story=1)
    person = put(study)

    for page in {"", "stories/"} - {path.removeprefix("/")}:
        browser = at(person, page)

        assert browser.page.status_code == 200
        assert browser.path == path
        assert heading in browser.heading
        assert study.contact in browser.page.content.decode()


@pytest.mark.parametrize("put", [_consented, _suspended])
def test_who_has_no_story_cannot_send_answers(put: Callable[[Study], Enrollment]) -> None:
    study = builders.make_study(qualification=1)
    person = put(study)
    browser = Browser()

    browser.open(f"/work/{token_of(person)}/stories/", builders.ALL_YES | {"assignment": "1"})

    assert browser.page.status_code == 404
    assert browser.heading == "Nothing was saved"


def test_a_forged_token_opens_nothing() -> None:
    (person,) = builders.qualified(builders.make_study())
    good = token_of(person)
    for token in (good[:-1], f"{person.pk + 1}{good[len(str(person.pk)) :]}"):
        browser = Browser()
        for page in ("", "consent/", "stories/", "qualification/"):
            browser.open(f"/work/{token}/{page}")
            assert browser.page.status_code == 404
            assert browser.heading == "This link does not work"
        browser.open(f"/work/{token}/stories/", builders.ALL_YES | {"assignment": "1"})
        assert "X-Unknown-Assignment" not in browser.page.headers, "the device keeps its answers"


def test_a_token_that_ran_out_says_so(settings: Any) -> None:
    (person,) = builders.qualified(builders.make_study())
    settings.VISIT_TOKEN_DAYS = -1

    browser = at(person, "stories/")

    assert browser.page.status_code == 410
    assert browser.heading == "This page has been open for too long"
    assert not Assignment.objects.exists()


@pytest.mark.parametrize(
    ("problem", "htmx"),
    [("replaced", True), ("replaced", False), ("too long", True), ("does not work", True)],
)
def test_answers_sent_over_a_link_that_opens_nothing_are_said_to_be_unsaved(
    problem: str, htmx: bool, settings: Any
) -> None:
    (person,) = builders.qualified(builders.make_study())
    browser = at(person, "stories/")
    form = dict(browser.forms[0].form_values()) | builders.ALL_YES
    if problem == "replaced":
        actions.revoke_link(enrollment=person, by=None, now=timezone.now())
    elif problem == "too long":
        settings.VISIT_TOKEN_DAYS = -1
    else:
        settings.SECRET_KEY = "another key"

    browser.open(browser.url, form, htmx=htmx)

    assert problem in browser.heading
    said = browser.document.text_content()
    assert ("They are kept on this device" in said) is htmx
    assert ("What you just sent was not saved." in said) is not htmx
    assert not Vote.objects.exists()
    browser.open(browser.url)
    assert "just sent" not in browser.document.text_content()


def test_somebody_elses_story_cannot_be_answered_with_ones_own_token() -> None:
    one, two = builders.qualified(builders.make_study(), 2)
    theirs = builders.claim(one)
    browser = Browser()

    browser.open(f"/work/{token_of(two)}/stories/", builders.ALL_YES | {"assignment": str(theirs.pk)})

    assert browser.page.status_code == 404
    assert browser.page.headers["X-Unknown-Assignment"] == str(theirs.pk), "so the device lets go of it"
    assert not Vote.objects.exists()


def test_whoever_answers_a_story_again_otherwise_is_told_that_the_first_answers_stand() -> None:
    (person,) = builders.qualified(builders.make_study())
    browser = at(person, "stories/")
    url, form = browser.url, dict(browser.forms[0].form_values())
    browser.open(url, form | builders.ALL_YES)
    assert b"Your first answers were kept" not in browser.page.content
    browser.open(url, form | builders.ALL_YES)
    assert b"Your first answers were kept" not in browser.page.content

    browser.open(url, form | builders.answers(q1="no"))

    assert b"Your first answers were kept" in browser.page.content


def test_the_reason_of_a_suspension_is_shown_though_it_came_at_the_last_moment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (person,) = builders.qualified(builders.make_study())
    search = actions.assign_next_story

    def suspended_meanwhile(**arguments: Any) -> Any:
        actions.suspend(enrollment=person, by=None, now=timezone.now(), reason="Far too fast.")
        return search(**arguments)

    monkeypatch.setattr(actions, "assign_next_story", suspended_meanwhile)

    assert b"Far too fast." in at(person, "stories/").page.content


def test_a_person_of_another_study_reads_nothing_of_this_one() -> None:
    builders.make_study("one")
    (person,) = builders.qualified(
        builders.make_study("two", stories=[builders.story_row(9)], title="The other study")
    )

    browser = at(person, "stories/")

    assert b"The other study" in browser.page.content
    assert builders.story_row(9)["story_sentence"] in browser.page.content.decode()


@pytest.mark.parametrize("assignment", ["", "²", "9" * 40])
def test_an_odd_assignment_number_is_nobodys(assignment: str) -> None:
    (person,) = builders.qualified(builders.make_study())
    browser = Browser()

    browser.open(f"/work/{token_of(person)}/stories/", builders.ALL_YES | {"assignment": assignment})

    assert browser.page.status_code == 404


def test_not_agreeing_to_a_newer_text_leads_to_leaving_and_changes_nothing(db: None) -> None:
    study = builders.make_study()
    person = _asked_again(study)
    browser = Browser()
    browser.open(f"/work/{token_of(person)}/stories/")
    browser.press("I do not agree")
    assert browser.heading == "Leave the study?"
    person.refresh_from_db()
    assert person.state == Enrollment.State.QUALIFIED
