"""``changes.jsonl``: what changed since the release before, why, and that no row can be made up."""

from __future__ import annotations

import dataclasses
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from publishing.comparison.changes import changed_rows
from publishing.files.rows import INCOMPLETE_PATH, VOTES_PATH, Decision, JudgedStory
from publishing.verification import check_release
from tests.publishing.test_builder import START, build, contents, judged, rows
from tests.publishing.verification.support import edit_document, edit_rows, pseudonymous, seal

NO, YES = "nyyy", "yyyy"
CHANGES = "changes.jsonl"


def decided(story: JudgedStory, verdict: str) -> JudgedStory:
    return dataclasses.replace(story, decisions={"": Decision(verdict, "Looked at twice.", START)})


def stories(later: bool) -> list[JudgedStory]:
    """Those of a first release, or of the one after it."""
    found = [
        judged(1, YES, YES, YES),
        judged(2, YES, NO if later else YES, YES),
        judged(3, YES, NO, YES),
        judged(4, YES, YES, YES) if later else judged(4, YES),
        decided(judged(5, YES, NO, YES), "valid") if later else judged(5, YES, NO, YES),
        *(judged(number, YES, YES, YES) for number in range(6, 20)),
        *([judged(20, YES, YES, YES), judged(21, YES)] if later else []),
    ]
    return [pseudonymous(one) for one in found]


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two releases; the later one keeps the medians of the first."""
    place = tmp_path_factory.mktemp("two")
    first = build(place / "1", stories(later=False))
    later = {"number": 2, "filter_name": "experts-decide-splits", "medians": first.description["medians"]}
    build(place / "2", stories(later=True), previous=place / "1", **later)
    return place


@pytest.fixture
def place(two: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(two / "2", tmp_path / "2"))


def findings(place: Path) -> list[str]:
    return [str(one) for one in check_release(place, with_machine_validation=False).shown]


def test_every_changed_story_is_there_with_its_reasons(two: Path) -> None:
    found = {row["story_id"]: row for row in rows(two / "2", CHANGES)}
    assert {story: (row["before"], row["now"], row["because"]) for story, row in found.items()} == {
        "s0002": ("kept", "dropped", ["votes", "filter"]),
        "s0004": ("incomplete", "kept", ["votes", "filter"]),
        "s0005": ("dropped", "kept", ["expert", "filter"]),
        "s0020": (None, "kept", ["new-story", "votes", "filter"]),
        "s0021": (None, "incomplete", ["new-story", "votes", "filter"]),
    }
    assert found["s0002"]["reason_now"] == "q1"
    (vote,) = found["s0002"]["votes"]
    assert (vote["before"]["q1"], vote["now"]["q1"]) == ("yes", "no")
    assert [one["before"] for one in found["s0004"]["votes"]] == [None, None]
    assert all(row["answers"] == [] for row in found.values())


def test_the_first_release_has_no_changes_and_the_card_of_the_next_counts_them(two: Path) -> None:
    assert (two / "1" / CHANGES).read_bytes() == b""
    assert findings(two / "1") == findings(two / "2") == []
    card = (two / "2" / "README.md").read_text(encoding="utf-8")
    assert "Every changed story, vote and answer key, with the reasons: 5, in `changes.jsonl`." in card
    assert "- Kept in both: 15." in card


def test_an_answer_on_another_side_is_a_change(two: Path, tmp_path: Path) -> None:
    build(tmp_path / "3", stories(later=False), previous=two / "1", number=2, salt="other")
    moved = [row for row in rows(tmp_path / "3", CHANGES) if row["because"] == ["sides"]]
    assert moved
    for row in moved:
        assert all({one["before"], one["now"]} == {"A", "B"} for one in row["answers"])
    assert findings(tmp_path / "3") == []


def test_the_same_input_gives_the_same_bytes(two: Path, tmp_path: Path) -> None:
    again: dict[str, Any] = {"number": 2, "filter_name": "experts-decide-splits"}
    medians = build(tmp_path / "1", stories(later=False)).description["medians"]
    build(tmp_path / "2", stories(later=True), previous=two / "1", medians=medians, **again)
    assert contents(tmp_path / "2") == contents(two / "2")


def test_a_story_that_no_file_lists_is_named_by_its_votes(two: Path, tmp_path: Path) -> None:
    before, now = (Path(shutil.copytree(two / "1", tmp_path / name)) for name in ("before", "now"))
    incomplete = {row["story_id"] for row in rows(before, INCOMPLETE_PATH)}
    for directory in (before, now):
        (directory / INCOMPLETE_PATH).unlink()

    def object_to_incomplete(votes: list[dict[str, Any]]) -> None:
        for vote in votes:
            if vote["story_id"] in incomplete:
                vote["q1"] = "no"

    edit_rows(VOTES_PATH, object_to_incomplete)(now)
    description = json.loads((now / "release.json").read_bytes())

    found = [row for row, _story in changed_rows(before, now, description)]

    assert {row["story_id"] for row in found} == incomplete != set()
    assert {(row["before"], row["now"], *row["because"]) for row in found} == {(None, None, "votes")}


def test_rows_that_say_otherwise_are_found(place: Path) -> None:
    def otherwise(found: list[Any]) -> None:
        found[0].update(now="kept")
        found[1]["votes"][0]["now"].update(q2="no")
        found[2].update(because=["boredom"])
        found[3].update(answers=[{"id": "x", "before": "A", "now": "B"}])
        found[4].update(note="x")
        found.append(found[0] | {"story_id": "s0099"})

    edit_rows(CHANGES, otherwise)(place)
    seal(place)
    said = (
        "The story is dropped (q1)", "A vote is not the one", "because is not a list", "An answer key",
        "The keys are", "The story is None",
    )  # fmt: skip
    found = findings(place)
    for number, words in enumerate(said, 1):
        assert any(one.startswith(f"{CHANGES}:{number}: {words}") for one in found), (words, found)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda found: found.reverse(), "not in order"),
        (lambda found: found.pop(0), "It does not say what follows from the other files"),
    ],
)
def test_rows_that_are_away_or_out_of_order_are_found(place: Path, change: Any, words: str) -> None:
    edit_rows(CHANGES, change)(place)
    seal(place)
    assert any(words in finding for finding in findings(place)), findings(place)


def test_the_release_before_cannot_be_made_up(place: Path) -> None:
    edit_document("release.json", lambda found: found["previous"]["counts"].update(kept=99))(place)
    seal(place)
    assert any(finding.startswith("README.md: It does not say") for finding in findings(place))
    edit_document("release.json", lambda found: found.update(previous=None))(place)
    seal(place)
    assert any("names no previous release" in finding for finding in findings(place))
