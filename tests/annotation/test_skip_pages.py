"""Skipping and commenting on the story's page, over HTTP."""

from __future__ import annotations

import pytest
from django.core.cache import caches

from annotation.actions.votes import comment_of
from annotation.models import Comment, Skip, Vote
from tests import builders
from tests.annotation.pages import Browser, arrive

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("client")]


def text_of(browser: Browser) -> str:
    return " ".join(browser.document.text_content().split())


def test_somebody_skips_without_a_script_and_reads_what_it_means() -> None:
    study = builders.make_study(stories=4, skip_allowance=1)
    (person,) = builders.qualified(study)
    browser = arrive(person)
    assert "as long as you have skips left: 1 of 1." in text_of(browser)
    browser.press("Skip this story", reason="upsetting", words="My own\r\naccident.")
    assert (browser.path.split("?")[0], browser.heading) == ("/stories/", "Story 2")
    assert "You skipped a story. It counts as an answered story." in text_of(browser)
    assert "You’ve used up your skips: this one doesn’t count" in text_of(browser)
    browser.press("Skip this story", reason="known")
    assert "you had no skips left" in text_of(browser)
    skips = Skip.objects.order_by("skipped_at").values_list("reason", "words", "credited")
    assert list(skips) == [("upsetting", "My own\naccident.", True), ("known", "", False)]


def test_a_skip_without_a_reason_is_refused() -> None:
    (person,) = builders.qualified(builders.make_study())
    browser = arrive(person)
    browser.press("Skip this story")
    assert (browser.page.status_code, browser.heading) == (422, "Nothing was skipped")
    assert not Skip.objects.exists()


def test_the_device_drops_its_draft_when_the_skip_is_stored_also_the_second_time() -> None:
    (person,) = builders.qualified(builders.make_study())
    browser = arrive(person)
    form = next(form for form in browser.document.forms if "Skip this story" in form.text_content())
    data = {"assignment": form.fields["assignment"], "reason": "unclear"}
    for _ in range(2):
        reply = browser.open(form.action, data, htmx=True)
        assert reply["X-Stored-Assignment"] == form.get("data-draft") == f"skip.{data['assignment']}"
        assert "skipped=" in reply["HX-Redirect"]
    assert Skip.objects.count() == 1


def test_nobody_skips_the_story_of_somebody_else() -> None:
    anna, bela = builders.qualified(builders.make_study(), 2)
    held = builders.claim(anna)
    browser = arrive(bela)
    form = next(form for form in browser.document.forms if "Skip this story" in form.text_content())
    reply = browser.open(form.action, {"assignment": str(held.pk), "reason": "unclear"})
    assert (reply.status_code, reply["X-Unknown-Assignment"]) == (404, f"skip.{held.pk}")
    assert not Skip.objects.exists()


def test_a_comment_goes_with_the_vote_survives_a_gap_and_can_be_changed() -> None:
    (person,) = builders.qualified(builders.make_study())
    browser = arrive(person)
    browser.press("Save", q1="yes", _comment="Odd ending")
    assert browser.document.xpath("//textarea[@name='_comment']")[0].text_content() == "Odd ending"
    kept = caches["local"]._cache.values()  # type: ignore[attr-defined]  # Django's cache of one process
    assert kept, "what is the same for everybody"
    assert not [part for part in kept if b"Odd ending" in part]
    assert not Vote.objects.exists()
    browser.press("Save", **builders.ALL_YES)
    vote = Vote.objects.get()
    assert comment_of(vote) == "Odd ending"
    assert browser.document.xpath("//textarea[@name='_comment']")[0].text_content() == ""

    browser.open(browser.url.split("stories/")[0] + "answers/")
    assert "Odd ending" in text_of(browser)
    browser.open(browser.document.xpath("//a[contains(@href, 'answers/')]/@href")[0])
    assert browser.document.xpath("//textarea[@name='_comment']")[0].text_content() == "Odd ending"
    browser.press("Save the change", _comment="")
    assert [comment_of(one) for one in Vote.objects.order_by("revision")] == ["Odd ending", ""]
    assert Comment.objects.count() == 1
