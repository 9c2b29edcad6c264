"""Very large releases are looked at through a sample of whole cores."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from publishing.files.rows import THEORY_OF_MIND
from publishing.machine_validation import questions as reading
from tests.publishing.machine_validation.support import Made, document, write_made

BEHAVIOR = THEORY_OF_MIND.question_sets[1]


@pytest.fixture(autouse=True)
def _fourteen_stories_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MOST_STORIES", 14)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return release(tmp_path_factory.mktemp("large"))


def release(place: Path, *, reverse: bool = False) -> Path:
    """Three stories about each of twenty cores, not next to each other."""
    made = [Made(f"go {core}", f"stay {core}", f"core {core}") for _ in range(3) for core in range(20)]
    return write_made(place, made[::-1] if reverse else made)


def cores_of(sample: reading.Sample) -> Counter[str]:
    return Counter(row["core_id"] for row in sample.stories.values())


def test_a_sample_has_whole_cores_whatever_the_order_of_the_file(place: Path, tmp_path: Path) -> None:
    sample = reading.read_stories(place)
    assert sample.total == 60
    assert not sample.is_whole
    assert len(sample.stories) == 12  # four cores; a fifth would be one story too many
    assert set(cores_of(sample).values()) == {3}
    turned = reading.read_stories(release(tmp_path, reverse=True))
    assert cores_of(turned) == cores_of(sample)


def test_a_sample_is_bounded_in_bytes_too(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = (place / "story-data/test.jsonl").read_bytes().splitlines(keepends=True)
    monkeypatch.setattr(reading, "MOST_BYTES", 10 * max(map(len, lines)))
    sample = reading.read_stories(place)
    assert set(cores_of(sample).values()) == {3}
    assert len(sample.stories) == 9
    assert sum(len(lines[line]) for line in sample.stories) <= reading.MOST_BYTES


def test_a_release_up_to_the_limits_is_read_whole(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MOST_STORIES", 60)
    monkeypatch.setattr(reading, "MOST_BYTES", (place / "story-data/test.jsonl").stat().st_size)
    sample = reading.read_stories(place)
    assert sample.is_whole
    assert len(sample.stories) == 60


def test_the_questions_of_a_sample_are_those_about_its_stories(place: Path) -> None:
    sample = reading.read_stories(place)
    questions = reading.read_questions(place, BEHAVIOR, sample)
    assert [question.id for question in questions] == [
        f"{row['story_id']}_action" for row in sample.stories.values()
    ]
    assert all(question.right == question.core.replace("core", "go") for question in questions)


def test_a_core_larger_than_the_sample_leaves_nothing(tmp_path: Path) -> None:
    place = write_made(tmp_path, [Made("go", f"stay {n}") for n in range(15)])
    sample = reading.read_stories(place)
    assert (sample.total, sample.stories) == (15, {})
    made = document(place, THEORY_OF_MIND)
    assert made["design"]["sampled_stories"] == 0
    assert made["configs"]["behavior-qa"]["choice_only"]["undefined"] == "There are no questions."


def test_the_document_says_that_it_is_a_sample(place: Path) -> None:
    made = document(place, THEORY_OF_MIND)
    assert (made["design"]["stories"], made["design"]["sampled_stories"]) == (60, 12)
    assert "14 stories" in made["design"]["sample"]
    assert made["configs"]["behavior-qa"]["questions"] == 12
