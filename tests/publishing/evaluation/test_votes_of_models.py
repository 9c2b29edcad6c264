"""Models as one more annotator where people answer on scales, in words, or may leave a question open."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError

from annotation.protocols.questions import Choice
from publishing.facts import AskedQuestion
from publishing.files import jsonl
from tests.publishing.evaluation.reference import Reference, Row, read
from tests.publishing.evaluation.test_evaluating import evaluated
from tests.publishing.test_builder import build, crowd
from tests.publishing.verification.support import pseudonymous

CLOSE = partial(pytest.approx, abs=1e-9)
STARS, MOOD = AskedQuestion("stars", "Stars", tuple("12345"), scale=("bad", "good")), ("sad", "glad")
NOTE = AskedQuestion("note", "Note", in_words=True)
ASKED = (STARS, AskedQuestion("mood", "Mood", MOOD, optional=True), NOTE)


def release(place: Path, asked: tuple[AskedQuestion, ...] = ASKED) -> Path:
    """Items whose people gave stars, left the mood open here and there, and wrote a note."""
    stories = []
    for number, judged in enumerate(map(pseudonymous, crowd(30))):
        votes = []
        for person, vote in enumerate(judged.votes):
            given = {"stars": str((number * person + number) % 5 + 1), "note": f"Note {number} of {person}."}
            if (number + person) % 4:
                given["mood"] = MOOD[(number + person) % 2]
            keys = [question.key for question in asked if question.key in given]
            votes.append(vote._replace(answers=tuple(Choice(key, "", given[key]) for key in keys)))
        stories.append(replace(judged, votes=tuple(votes)))
    build(place, stories, asked=asked)
    return place


def model(place: Path, path: Path) -> Path:
    """Three stars for everything, as a number or a text; the mood of the first person on the story."""
    first: dict[str, Row] = {}
    for vote in read(place / "annotations/votes.jsonl"):
        first.setdefault(vote["story_id"], vote)
    rows: list[dict[str, Any]] = [
        {"story_id": name, "stars": 3, "mood": vote.get("mood")} for name, vote in first.items()
    ]
    path.write_bytes(b"".join(map(jsonl.line, rows)))
    return path


def nearness(one: int, other: int) -> float:
    return 1 - abs(one - other) / 4


def test_scales_compare_by_nearness_open_answers_count_and_words_are_passed_over(tmp_path: Path) -> None:
    place = release(tmp_path / "1")
    file = model(place, tmp_path / "judge.jsonl")
    found, reference = evaluated(place, file)["votes"]["judge"], Reference(place)
    assert list(found) == ["stars", "mood"]  # nothing counts against an item: there is no whole to compare
    for key, near in (("stars", {"near": nearness}), ("mood", {})):
        for name, (share, bounds) in reference.votes(file, key, **near).items():
            score = found[key] if name == "difference" else found[key][name]
            assert score["difference" if name == "difference" else "share"] == CLOSE(share), (key, name)
            assert score["interval"] == (bounds and CLOSE(bounds)), (key, name)
    assert found["stars"]["annotators"]["share"] > 0.5  # equal numbers alone would be less


def test_numbers_off_the_scale_and_questions_in_words_alone_are_refused(tmp_path: Path) -> None:
    place = release(tmp_path / "1")
    file = model(place, tmp_path / "judge.jsonl")
    rows = read(file)
    rows[1]["stars"] = 6
    del rows[2]["stars"]
    file.write_bytes(b"".join(map(jsonl.line, rows)))
    with pytest.raises(CommandError) as refused:
        evaluated(place, file)
    assert str(refused.value).splitlines() == [
        f"{file}:{line}: s000{line - 1}: stars is not one of 1, 2, 3, 4, 5." for line in (2, 3)
    ]
    with pytest.raises(CommandError, match="Every question is answered in words"):
        evaluated(release(tmp_path / "2", (NOTE,)), file)
