"""Releases of ratings: columns of numbers, and their statistics."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from django.utils.translation import override

from annotation.protocols.base import Choice
from publishing.files import jsonl
from publishing.files.rows import CountedVote, JudgedStory, ReleasedStory
from publishing.instrument import form_of
from publishing.queries import asked_question
from publishing.verification import check_release
from tests.annotation.protocols.test_scales import Notes
from tests.publishing.test_builder import INSTRUMENT, START, build, rows

CLARITY = Notes.questions[0]


def rated(number: int, *ratings: int, model: str = "m1") -> JudgedStory:
    """Note ``number`` with one vote per rating."""
    story = ReleasedStory(
        f"n{number:03}", f"n{number:03}", "notes", None, None, model, {"text": f"{number}."}
    )
    votes = tuple(
        CountedVote(
            f"annotator-{person:016x}",
            (Choice("clarity", "", str(rating)),),
            jsonl.timestamp(START + timedelta(minutes=number, seconds=person)),
            20.5,
        )
        for person, rating in enumerate(ratings)
    )
    return JudgedStory(story, votes, frozenset())


def release(place: Path, stories: Sequence[JudgedStory], **changes: Any) -> Path:
    """Build a release of the notes and return its directory."""
    with override("en"):
        asked = (asked_question(CLARITY),)
    instrument = {
        **INSTRUMENT,
        "protocol": {"name": "notes", "version": "1"},
        "forms": [form_of(Notes(), "en")],
    }
    build(place, stories, asked=asked, protocol_name="notes", instrument=instrument, **changes)
    return place


def retold(place: Path, path: str, old: str, new: str) -> None:
    """Change a file of a release, and its hash in MANIFEST."""
    file = place / path
    before = file.read_bytes()
    after = before.replace(old.encode(), new.encode(), 1)
    assert after != before
    file.write_bytes(after)
    manifest = place / "MANIFEST"
    digests = [hashlib.sha256(one).hexdigest() for one in (before, after)]
    manifest.write_text(manifest.read_text().replace(*digests))


STORIES = [rated(number, number % 5 + 1, 4, 5) for number in range(10)]


def test_ratings_are_numbers_in_every_copy_and_their_ends_are_told(tmp_path: Path) -> None:
    place = release(tmp_path / "1", STORIES)
    assert [row["clarity"] for row in rows(place, "annotations/votes.jsonl")][:3] == [1, 4, 5]
    assert str(pq.read_schema(place / "parquet/annotations/votes.parquet").field("clarity").type) == "int64"
    described = json.loads((place / "release.json").read_bytes())["questions"]
    assert described[0]["scale"] == ["not at all", "fully"]
    assert "from 1 (not at all) to 5 (fully)" in (place / "README.md").read_text()
    report = check_release(place)
    assert report.is_sound, report.shown


@pytest.mark.parametrize(
    ("path", "old", "new", "told"),
    [
        ("annotations/votes.jsonl", '"clarity":4', '"clarity":7', "not an option"),
        ("annotations/votes.jsonl", '"clarity":4', '"clarity":"4"', "a whole number"),
        ("release.json", '"4"', '"four"', "not its numbers"),
    ],
)
def test_a_rating_off_the_scale_is_found(tmp_path: Path, path: str, old: str, new: str, told: str) -> None:
    place = release(tmp_path / "1", STORIES)
    retold(place, path, old, new)
    assert any(told in str(found) for found in check_release(place).shown)
