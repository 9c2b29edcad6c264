"""Whole files: our sample study, and the public SimpleToM files where they are at hand.

The public files are never part of the project. Where they are missing their cases do not exist; the ids
of the cases say which files were read.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from annotation.importing.duplicates import NearDuplicates
from annotation.protocols.validity.item import parse
from annotation.protocols.validity.lint import SCENARIOS, lint, text_for_duplicates
from tests.annotation.importing.samples import file_outcomes

PROJECT = Path(__file__).resolve().parents[3]
SHARED = Path(os.environ.get("TOMANNOT_SHARED_DATA") or PROJECT.parent / "shared" / "data")
EXPECTED = {
    SHARED / "simpletom" / "seed_stories.jsonl": (60, 20, 10),
    SHARED / "simpletom" / "generated_stories.jsonl": (18, 6, 1),
    SHARED / "simpletom" / "raw_completions.jsonl": (9, 3, 1),
    PROJECT / "sample_study" / "qualification.jsonl": (5, None, None),
}
PRESENT = [path for path in EXPECTED if path.exists()]


@pytest.mark.parametrize("path", PRESENT, ids=lambda path: path.stem)
def test_every_story_of_a_real_file_is_read(path: Path) -> None:
    stories, problems = file_outcomes(path)
    assert [str(problem) for problem in problems] == []
    count, cores, scenarios = EXPECTED[path]
    assert len({story.story_id for story in stories}) == len(stories) == count
    if cores:
        assert len({story.core_id for story in stories}) == cores
        assert len({story.scenario_name for story in stories}) == scenarios
        assert {story.severity_original for story in stories} == {1, 2, 3}
    assert {story.scenario_name for story in stories} <= SCENARIOS
    for story in stories:
        assert parse(story.content).person_x
        lint(story)


@pytest.mark.parametrize("path", PRESENT, ids=lambda path: path.stem)
def test_no_two_cores_of_a_real_file_are_near_duplicates(path: Path) -> None:
    index = NearDuplicates()
    stories, _ = file_outcomes(path)
    assert [index.add(s.story_id, s.core_id, text_for_duplicates(s)) for s in stories] == [[]] * len(stories)


RAW, PROCESSED = (
    SHARED / "simpletom" / name for name in ("raw_completions.jsonl", "generated_stories.jsonl")
)

if RAW.exists() and PROCESSED.exists():

    def test_raw_completions_give_the_stories_that_the_generator_made_of_them() -> None:
        raw, _ = file_outcomes(RAW)
        processed, _ = file_outcomes(PROCESSED)
        made = {story.content["story"]: dict(story.content) for story in processed}
        assert [dict(story.content) for story in raw] == [made[story.content["story"]] for story in raw]
