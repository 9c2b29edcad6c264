"""Very large releases are looked at through a sample of whole cores."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from publishing.files.rows import THEORY_OF_MIND
from publishing.machine_validation import document, reading
from tests.publishing.machine_validation.support import Made, write_made

BEHAVIOR = THEORY_OF_MIND.question_sets[1]


def release(place: Path, cores: int, *, reverse: bool = False) -> Path:
    """Three stories per core, not next to each other."""
    made = [Made(f"go {core}", f"stay {core}", f"core {core}") for _ in range(3) for core in range(cores)]
    return write_made(place, made[::-1] if reverse else made)


def cores_of(sample: reading.Sample) -> Counter[str]:
    return Counter(row["core_id"] for row in sample.stories.values())


def test_a_sample_has_whole_cores_and_does_not_depend_on_the_order_of_the_file(tmp_path: Path) -> None:
    sample = reading.read_stories(release(tmp_path / "1", 100), most=50)
    assert sample.total == 300
    assert not sample.is_whole
    assert len(sample.stories) == 48  # sixteen cores; a seventeenth would be one story too many
    assert set(cores_of(sample).values()) == {3}
    turned = reading.read_stories(release(tmp_path / "2", 100, reverse=True), most=50)
    assert cores_of(turned) == cores_of(sample)


def test_a_release_up_to_the_limit_is_read_whole(tmp_path: Path) -> None:
    sample = reading.read_stories(release(tmp_path, 10), most=30)
    assert sample.is_whole
    assert len(sample.stories) == 30


def test_the_questions_of_a_sample_are_those_about_its_stories(tmp_path: Path) -> None:
    place = release(tmp_path, 100)
    sample = reading.read_stories(place, most=50)
    questions = reading.read_questions(place, BEHAVIOR, sample)
    assert [question.id for question in questions] == [
        f"{row['story_id']}_action" for row in sample.stories.values()
    ]
    assert all(
        question.core.removeprefix("core ") == question.right.removeprefix("go ") for question in questions
    )


def test_a_core_larger_than_the_sample_leaves_nothing_and_is_no_crash(tmp_path: Path) -> None:
    sample = reading.read_stories(release(tmp_path, 1), most=2)
    assert (sample.total, sample.stories) == (3, {})
    assert reading.read_questions(tmp_path, BEHAVIOR, sample) == []


def test_the_document_says_that_it_looked_at_a_sample(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "MOST_STORIES", 50)
    place = release(tmp_path, 100)
    made = document(place, THEORY_OF_MIND)
    assert (made["design"]["stories"], made["design"]["sampled_stories"]) == (300, 48)
    assert "50 stories at most" in made["design"]["sample"]
    assert made["configs"]["behavior-qa"]["questions"] == 48
