"""The changes since the release before, as the card counts them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from publishing.comparison.changes import changes_since
from publishing.errors import BrokenDirectory
from publishing.filters import Outcome
from tests.publishing.test_builder import build, crowd, judged
from tests.publishing.test_card import card_of, known

# Changes ----------------------------------------------------------------------------------------------


def test_changes_are_counted_from_the_release_before(tmp_path: Path) -> None:
    no, yes = "nyyy", "yyyy"
    build(
        tmp_path / "1",
        [
            judged(1, yes, yes, yes),  # stays
            judged(2, yes, yes, yes),  # goes
            judged(3, yes, no, yes),  # comes, was dropped
            judged(4, yes),  # comes, was incomplete
            judged(5, yes, no),  # dropped without a verdict before
        ],
    )
    after = [
        judged(1, yes, yes, yes),
        judged(2, yes, no, no),
        judged(3, yes, no, yes),
        judged(4, yes, yes, yes),
        judged(5, no, no, yes),
        judged(6, yes, yes, yes),
    ]
    build(
        tmp_path / "2", after, number=2, filter_name="majority", protocol_version="2", license="CC0-1.0",
        previous=tmp_path / "1",
    )  # fmt: skip
    card = card_of(tmp_path / "2")
    for fact in (
        "Release 1 was requested on 2026-03-01 and kept 2 stories of 5, with 12 counted votes.",
        "Kept in both: 1.",
        "Newly kept: 3 (1 of them were dropped before).",
        "No longer kept: 1 (1 of them are dropped now).",
        "Newly dropped, without a verdict before: 1.",
        "**The filter has changed**: `all-agree` before, `majority` now.",
        "**The version of the protocol has changed**: `1` before, `2` now.",
        "**The licence has changed**: `CC-BY-4.0` before, `CC0-1.0` now.",
    ):
        assert fact in card, fact


def test_ids_with_characters_that_json_escapes_are_compared_too(tmp_path: Path) -> None:
    ids = sorted(('a"b', "a\\b", "ab", "aé", "b"))
    stories = [
        judged(number, "yyyy", "yyyy", "yyyy", story_id=story_id) for number, story_id in enumerate(ids)
    ]
    medians = build(tmp_path / "1", stories).description["medians"]
    build(tmp_path / "2", stories[1:], number=2, medians=medians)
    description = json.loads((tmp_path / "2" / "release.json").read_bytes())
    written: list[bytes] = []
    moves = changes_since(tmp_path / "1", description, tmp_path / "2", written.append).moves
    assert moves == {(Outcome.KEPT, None): 1}
    assert [json.loads(line)["story_id"] for line in written] == [ids[0]]


def test_a_release_whose_predecessor_is_away_says_so() -> None:
    assert "The files of release 1 were not available" in known().card(number=2)


def _shuffle(place: Path) -> None:
    path = place / "story-data" / "test.jsonl"
    path.write_bytes(b"".join(reversed(path.read_bytes().splitlines(keepends=True))))


@pytest.mark.parametrize(
    "damage", [_shuffle, lambda place: (place / "release.json").unlink()], ids=["out of order", "missing"]
)
def test_a_damaged_predecessor_is_never_miscounted(tmp_path: Path, damage: Any) -> None:
    build(tmp_path / "1", crowd(12))
    damage(tmp_path / "1")
    with pytest.raises(BrokenDirectory, match="Restore the files of that release"):
        build(tmp_path / "2", crowd(12), number=2, previous=tmp_path / "1")
