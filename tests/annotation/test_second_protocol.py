"""A second protocol from its file to its release: the whole way over HTTP, with no line of ours changed.

It rates from 1 to 5, asks a multiple choice whose options are the story's own, and has a table of rows.
"""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from annotation import actions, protocols
from annotation.models import Enrollment, Story, Study, Vote
from annotation.protocols.base import Protocol
from annotation.protocols.questions import Choice, Option
from integrity.catalogue import CHECKS, run
from publishing.files import directory
from publishing.models import Release
from tests import builders
from tests.annotation.pages import Browser, arrive
from tests.annotation.protocols.test_second_protocol import (
    CONTENT,
    Dialogue,
    DialogueProtocol,
    EndingQuestion,
)
from tests.publishing.support import published, verdict_counts

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("client")]

NONE_FITS = "None of these."
SAVE = "Save and continue"
GOOD = {"fluency": "4", "ending": "ending-1", "label.line-1": "belief", "label.line-2": "wish"}


class EndingOrNone(EndingQuestion):
    """Which of the item's endings says that none fits differs from item to item."""

    def options_for(self, item: Dialogue) -> tuple[Option, ...]:
        return tuple(
            dataclasses.replace(option, counts_against=option.label == NONE_FITS)
            for option in super().options_for(item)
        )


class ScratchProtocol(DialogueProtocol):
    name = "scratch"
    title = "Scratch dialogues"
    questions = (
        DialogueProtocol.questions[0],
        EndingOrNone(key="ending", title="Ending", text="How does it end?", options=()),
        DialogueProtocol.questions[2],
    )


def dialogue(story_id: str, *endings: str) -> dict[str, Any]:
    return CONTENT | {
        "id": story_id,
        "text": f"{story_id}: It will rain. I hope not.",
        "endings": list(endings),
        "lines": ["It will rain.", "I hope not."],
    }


DIALOGUES = [
    dialogue("kept", "They stay in.", "They go out.", NONE_FITS),
    dialogue("mended", "They stay in.", "They go out."),
    dialogue("unnatural", "They quarrel.", "They sing.", NONE_FITS),
    dialogue("without-end", NONE_FITS, "They sleep."),
]
ANSWERS = {
    "kept": GOOD,
    "mended": GOOD | {"fluency": "1", "label.line-2": "belief"},
    "unnatural": GOOD | {"fluency": "1", "ending": "ending-2"},
    "without-end": GOOD,  # its first ending says that none fits
}


@pytest.fixture
def protocol(monkeypatch: pytest.MonkeyPatch) -> Protocol:
    installed = {**protocols.all_protocols(), "scratch": ScratchProtocol()}
    monkeypatch.setattr(protocols, "all_protocols", lambda: installed)
    return installed["scratch"]


@pytest.fixture
def study(protocol: Protocol, tmp_path: Path) -> Study:
    """The four dialogues, imported from a file by the protocol itself; one vote decides."""
    study = builders.make_study("scratch", stories=0, opened=False, protocol="scratch", votes_per_story=1)
    path = builders.write_rows(tmp_path / "dialogues.jsonl", DIALOGUES)
    job = actions.import_stories(study=study, path=path, by=None, now=timezone.now())
    assert (job.stories_added, job.problems_found) == (len(DIALOGUES), 0)
    return actions.open_study(study=study, by=None, now=timezone.now())


@pytest.fixture
def releases_root(tmp_path: Path, settings: Any) -> Path:
    settings.RELEASES_ROOT = tmp_path / "releases"
    return tmp_path / "releases"


def begin(person: Enrollment) -> Browser:
    """From the personal link to the first dialogue."""
    browser = arrive(person)
    browser.press("I agree")
    (forward,) = browser.document.xpath("//a[normalize-space()='Continue']/@href")
    browser.open(forward)
    assert browser.heading == "Story 1"
    return browser


def answer_all(person: Enrollment) -> Browser:
    """Every dialogue, answered by :data:`ANSWERS`."""
    browser = begin(person)
    for number in range(1, len(DIALOGUES) + 1):
        assert browser.heading == f"Story {number}"
        browser.press(SAVE, **ANSWERS[shown(browser)])
    assert browser.heading == "There are no stories left for you"
    return browser


def shown(browser: Browser) -> str:
    """The dialogue on the page, by its text."""
    page = browser.document.xpath("//main")[0].text_content()
    (story_id,) = [row["id"] for row in DIALOGUES if row["text"] in page]
    return str(story_id)


def offered(browser: Browser) -> dict[str, list[str]]:
    """Per form field: the options that can be chosen."""
    fields: dict[str, list[str]] = {}
    for radio in browser.document.xpath("//*[@data-question]//input[@type='radio']"):
        fields.setdefault(radio.get("name"), []).append(radio.get("value"))
    return fields


def rows(release: Release, path: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (release.directory / path).read_text(encoding="utf-8").splitlines()]


def change(browser: Browser, story_id: str, **answers: str) -> None:
    """Change the answer to one dialogue, from the page that lists them."""
    browser.open(browser.url.replace("/stories/", "/answers/"))
    (link,) = browser.document.xpath(
        f"//section[contains(., '{story_id}: ')]//a[contains(@href, '/answers/')]/@href"
    )
    browser.open(link)
    browser.press("Save the change", **answers)
    assert browser.heading == "Your answers"


def test_the_same_option_counts_against_one_item_and_not_another(protocol: Protocol) -> None:
    first = Choice("ending", "", "ending-1")
    judged = {row["id"]: protocol.counts_against(protocol.parse(row), first) for row in DIALOGUES}
    assert judged == {"kept": False, "mended": False, "unnatural": False, "without-end": True}


def test_the_form_offers_what_the_story_asks(study: Study) -> None:
    browser = begin(builders.invite(study)[0])
    endings = next(len(row["endings"]) for row in DIALOGUES if row["id"] == shown(browser))
    assert offered(browser) == {
        "fluency": ["1", "2", "3", "4", "5"],
        "ending": [f"ending-{number}" for number in range(1, endings + 1)],
        "label.line-1": ["belief", "wish"],
        "label.line-2": ["belief", "wish"],
    }
    response = browser.press(SAVE, **GOOD | {"ending": "ending-9"})
    assert response.status_code == 422
    assert "“ending-9” is not one of the answers to this question." in response.content.decode()
    assert not Vote.objects.exists()


def test_from_the_import_to_the_release(study: Study, releases_root: Path) -> None:
    browser = answer_all(builders.invite(study)[0])
    assert not Story.objects.filter(study=study, has_free_slot=True).exists()

    change(browser, "mended", fluency="5")
    assert "Lines: I hope not." in " ".join(browser.document.xpath("//main")[0].text_content().split())
    assert Vote.objects.filter(revision=2).count() == 1
    counts = verdict_counts(study)
    assert (counts.kept, counts.dropped, counts.incomplete) == (2, 2, 0)
    assert counts.dropped_by_question == {"fluency": 1, "ending": 1}

    release = published(study)
    directory.verify(release.directory)
    assert not [outcome.check.name for outcome in run(CHECKS) if not outcome.holds]
    kept = rows(release, "story-data/test.jsonl")
    assert {row["story_id"]: row["item"] for row in kept} == {
        row["id"]: row for row in DIALOGUES if row["id"] in ("kept", "mended")
    }
    dropped = rows(release, "annotations/dropped-stories.jsonl")
    assert {row["story_id"]: row["reason"] for row in dropped} == {
        "unnatural": "fluency",
        "without-end": "ending",
    }
    votes = rows(release, "annotations/votes.jsonl")
    assert len(votes) == len(DIALOGUES)
    expected = ANSWERS | {"mended": ANSWERS["mended"] | {"fluency": "5"}}
    for vote in votes:
        assert {name: vote[name] for name in GOOD} == expected[vote["story_id"]]
