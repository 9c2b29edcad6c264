"""A study with every kind of answer up to its release, back from it, and in the exports."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from annotation import actions
from annotation.errors import ImportRefused
from annotation.models import Story
from annotation.protocols import _check
from annotation.protocols.base import Protocol
from annotation.protocols.questions import Option, Question, SeveralOf, Text
from dashboard.stories.votes_export import csv_rows, questions_of
from publishing.verification import check_release
from tests import builders
from tests.kinds import STORIES
from tests.publishing.support import published
from tests.publishing.test_reimport import broken_promises, imported

pytestmark = pytest.mark.django_db(transaction=True)

FULL = {"fits": "yes", "seen.angry": "yes", "natural": "3", "note": "Write to bo@example.org | or 1:2"}
SHORT = {"fits": "no", "why": "It is\nodd", "natural": "1", "mood": "sad"}


@pytest.fixture
def study(dialogues: Protocol) -> Any:
    study = builders.make_study("mixed", protocol="dialogues", stories=STORIES, votes_per_story=2)
    for person, form in zip(builders.qualified(study, 2), (FULL, FULL), strict=True):
        for story in range(2):
            held = builders.claim(person)
            given = SHORT if story else form
            actions.record_vote(assignment_id=held.pk, enrollment=person, submitted=given, now=timezone.now())
    return study


def test_it_is_released_checked_and_imported(study: Any, tmp_path: Path, settings: Any) -> None:
    settings.RELEASES_ROOT = tmp_path
    place = published(study).directory
    report = check_release(place)
    assert report.is_sound, report.shown
    votes = [json.loads(line) for line in (place / "annotations/votes.jsonl").read_text().splitlines()]
    full = next(vote for vote in votes if vote["fits"] == "yes")
    assert full["note"] == "Write to [removed] | or 1:2"
    assert (full["seen.angry"], full["seen.polite"], full["natural"]) == ("yes", "no", 3)
    assert not {"why", "mood"} & {*full}
    short = next(vote for vote in votes if vote["fits"] == "no")
    assert (short["why"], short["mood"]) == ("It is odd", "sad")
    asked = {one["key"]: one for one in json.loads((place / "release.json").read_bytes())["questions"]}
    assert (asked["why"]["in_words"], asked["why"]["optional"], asked["mood"]["optional"]) == (
        True,
        True,
        True,
    )
    assert "in_words" not in asked["fits"]
    page = (place / "instrument/form-0-en.md").read_text()
    for said in ("at most 20 characters", "It may be left unanswered.", "Asked only after", "**angry**"):
        assert said in page
    copy, _ = imported(place, "copy", "--with-votes")
    again = published(copy).directory
    assert (again / "statistics.json").read_bytes() == (place / "statistics.json").read_bytes()
    assert broken_promises() == []


def test_words_leave_without_identifiers_and_on_lines_of_their_own(study: Any) -> None:
    rows = list(csv_rows(study, questions_of(study)))
    full = next(row for row in rows if row["fits"] == "yes")
    assert full["note"] == "Write to [removed] | or 1:2"
    assert full["seen"] == "angry:yes polite:no"


def test_no_test_and_no_hidden_check_asks_what_no_key_can_grade(study: Any, tmp_path: Path) -> None:
    file = builders.write_rows(tmp_path / "checks.jsonl", [{"story_id": "c", "story": "Is it?"}])
    for role in (Story.Role.CHECK, Story.Role.QUALIFICATION):
        with pytest.raises(ImportRefused) as caught:
            actions.import_stories(study=study, path=file, role=role, by=None, now=timezone.now())
        assert "no key can grade" in caught.value.problems[0].message


ASKED = Question("a", "A", "A?", (Option("x", "x"), Option("y", "y")))
SEVERAL = SeveralOf("s", "S", "S?", choices=(Option("x", "x", counts_against=True),))


@pytest.mark.parametrize(
    ("questions", "changes", "told"),
    [
        ((Text("comment", "C", "C?"),), {}, "reserved, like"),
        ((Text("Bad", "C", "C?"),), {}, "cannot be keys"),
        ((ASKED, SEVERAL), {}, "can count against"),
        ((Text("b", "B", "B?", only_after=("a", ("x",))), ASKED), {}, "depends on a question"),
        ((ASKED, Text("b", "B", "B?", only_after=("c", ("x",)))), {}, "depends on a question"),
        ((ASKED, Text("b", "B", "B?", only_after=("a", ("z",)))), {}, "depends on a question"),
        ((SEVERAL, ASKED), {"resolution": "reconciled"}, "can count against"),
        ((ASKED,), {"resolution": "reconciled"}, "open table of words"),
        ((ASKED, Text("b", "B", "B?")), {"resolution": "majority"}, "no majority"),
    ],
)
def test_a_protocol_that_cannot_work_is_refused_with_the_reason(
    dialogues: Protocol, questions: Any, changes: dict[str, Any], told: str
) -> None:
    made = type("Made", (type(dialogues),), {"questions": questions, **changes})()
    with pytest.raises(ValueError, match=told):
        _check(made)
