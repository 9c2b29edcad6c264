"""The public stories: figures that were first measured with other code, outside this project.

It had 78 stories in 26 cores, choice only by core 0.846, by entities 0.821, by scenario 0.795, and
0.949 for the shorter choice. Which stories share a fold moves the learner's figures by a few questions.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from publishing.files.rows import THEORY_OF_MIND, ReleasedStory
from tests.publishing.machine_validation.support import document, write


def lines(path: Path) -> Iterator[dict[str, Any]]:
    return map(json.loads, path.read_text(encoding="utf-8").splitlines())


def public_stories(data: Path) -> Iterator[ReleasedStory]:
    for row in lines(data / "seed_stories.jsonl"):
        yield released(row, row["story_id"], row["core_id"], "seed")
    for row in lines(data / "generated_stories.jsonl"):
        if row["id"].endswith("_action"):
            actions = {"action_unaware": row["answer_correct"], "action_aware": row["answer_incorrect"]}
            story_id = row["id"].removesuffix("_action")
            core_id = story_id.rpartition("_sev")[0]
            yield released({**row, **actions}, story_id, core_id, row["generator_model"])


def released(row: dict[str, Any], story_id: str, core_id: str, model: str) -> ReleasedStory:
    return ReleasedStory(story_id, core_id, row["scenario_name"], None, None, model, row)


def test_the_figures_of_the_public_stories(tmp_path: Path, shared_data: Path | None) -> None:
    if shared_data is None:
        pytest.skip("the public example files are not here")
    config = document(write(tmp_path, list(public_stories(shared_data))), THEORY_OF_MIND)["configs"][
        "behavior-qa"
    ]
    assert config["questions"] == 78
    assert config["by_group"]["core_id"]["groups"] == 26
    assert config["by_group"]["scenario"]["groups"] == 10
    assert config["shorter_choice"]["accuracy"] == pytest.approx(0.949, abs=0.0005)
    assert config["shorter_choice"]["median_extra_words"] == 3
    expected = {
        "core_id": {"choice_only": 0.846, "question_choice": 0.872, "story_choice": 0.910},
        "entities": {"choice_only": 0.821, "question_choice": 0.846, "story_choice": 0.859},
        "scenario": {"choice_only": 0.795, "question_choice": 0.795, "story_choice": 0.808},
    }
    for grouping, scores in expected.items():
        for given, accuracy in scores.items():
            found = config["by_group"][grouping][given]["accuracy"]
            assert found == pytest.approx(accuracy, abs=0.05), (grouping, given)
    low, high = config["choice_only"]["interval"]
    assert low == pytest.approx(0.756, abs=0.04)
    assert high == pytest.approx(0.936, abs=0.04)
    assert {"pay", "pay for"} <= {cue["text"] for cue in config["cues"] if cue["points_to"] == "right"}
