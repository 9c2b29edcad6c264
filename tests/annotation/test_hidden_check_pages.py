"""What people see of hidden checks: nothing of which story is one, and a warning when they fail too many."""

from __future__ import annotations

import re

import pytest

from annotation.models import Assignment, Enrollment, Story, Vote
from annotation.views import common
from tests import builders
from tests.annotation.pages import Browser, at

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("client")]

WRONG = builders.answers(q2="no", q4="no")


def submit(browser: Browser, answers: dict[str, str], *, htmx: bool) -> Story:
    """Answer the story on the page; returns it."""
    pk = browser.document.xpath("//input[@name='assignment']/@value")[0]
    story = Assignment.objects.get(pk=pk).story
    browser.open(browser.url, answers | {"assignment": pk}, htmx=htmx)
    return story


def shape(browser: Browser, story: Story) -> str:
    """A page without what belongs to this story and this moment."""
    text = re.sub(r'<span class="milestone">.*?</span>', "", browser.page.content.decode(), flags=re.DOTALL)
    for name in ("key_information", "story_sentence", "question", "action_unaware", "action_aware"):
        text = text.replace(str(story.content.get(name, "\0")), name)
    for said in story.content.get("entities", {}).values():
        text = text.replace(said, "entity")
    return re.sub(r"\s+", " ", re.sub(r"\d+", "0", text))


@pytest.mark.parametrize("htmx", [True, False], ids=["htmx", "plain"])
def test_a_check_looks_like_any_other_story(htmx: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(common, "COUNT_SECONDS", 0)
    study = builders.make_study(stories=14, votes_per_story=1)
    builders.add_checks(study, 3, warn_percent=50)
    (person,) = builders.qualified(study)
    browser = at(person, "stories/")
    builders.work_through(person, 3)  # the explanations stand open on the first stories
    browser.open(browser.url)
    shapes: dict[str, set[str]] = {"main": set(), "check": set()}
    headers: dict[str, set[frozenset[str]]] = {"main": set(), "check": set()}
    left: list[int] = []
    for _ in range(7):
        story = submit(browser, builders.ALL_YES, htmx=htmx)
        shown = Assignment.objects.get(state=Assignment.State.LEASED).story
        shapes[shown.role].add(shape(browser, shown))
        headers[shown.role].add(frozenset(browser.page.headers))
        left += map(int, re.findall(r"up to (\d+) more", browser.page.content.decode()))

    assert story.study == study
    assert len(shapes["main"]) == 1
    assert shapes["check"] == shapes["main"]
    assert headers["check"] == headers["main"]
    assert left == list(range(left[0], left[0] - 7, -1)), "it would stand still after a check"
    assert 14 + 3 - 4 <= left[0] <= 14 + 3 - 3
    own = at(person, "answers/")
    to_change = [link for link in own.document.xpath("//a/@href") if re.search(r"/answers/\d+/$", link)]
    assert len(to_change) == Vote.objects.count() == 10
    assert "known" not in own.page.content.decode()


def test_a_warning_is_read_with_the_next_story_and_then_over() -> None:
    study = builders.make_study(stories=9)
    builders.add_checks(study, 3, minimum=1, warn_percent=50)
    (person,) = builders.qualified(study)
    browser = at(person, "stories/")

    for _ in range(4):
        shown = Assignment.objects.get(state=Assignment.State.LEASED).story
        submit(browser, WRONG if shown.role == Story.Role.CHECK else builders.ALL_YES, htmx=False)
        assert "known answers" not in browser.page.content.decode()
    submit(browser, builders.ALL_YES, htmx=False)

    (notice,) = browser.document.xpath("//section[@aria-labelledby='warning']")
    said = " ".join(notice.text_content().split())
    assert "You differed on 1 of 1" in said
    titles = [str(question.title) for question in study.protocol.questions]
    assert [item.text_content() for item in notice.xpath(".//li")] == [titles[1], titles[3]]
    assert "paused" not in said  # nobody is suspended here
    browser.open(browser.url)
    assert browser.document.xpath("//section[@aria-labelledby='warning']")
    submit(browser, builders.ALL_YES, htmx=False)
    assert not browser.document.xpath("//section[@aria-labelledby='warning']")


def test_somebody_suspended_for_failed_checks_reads_why_and_keeps_the_credit() -> None:
    study = builders.make_study(stories=9)
    builders.add_checks(study, 3, minimum=1, suspend_percent=50)
    (person,) = builders.qualified(study)
    builders.work_through(person, 4, on_checks=WRONG)
    browser = at(person, "stories/")

    submit(browser, builders.ALL_YES, htmx=True)

    assert browser.heading == "You can’t continue right now"
    text = " ".join(browser.document.text_content().split())
    assert "You differed on 1 of 1, which is more than this study allows" in text
    assert Enrollment.objects.get(pk=person.pk).stories_submitted == 5
