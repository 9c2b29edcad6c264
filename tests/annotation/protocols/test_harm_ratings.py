"""People rate the harm and wrongdoing that models rated: both ratings are in one release."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from annotation.protocols import get_protocol
from publishing.verification import check_release
from tests import builders
from tests.publishing.support import published

MODELS = {
    "harmfulness_predicted": [{"harmfulness": 4, "predictor_model": "model-1"}],
    "unethicality_predicted": [{"unethicality": 2, "predictor_model": "model-1"}],
}


def rows(place: Path, path: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (place / path).read_text(encoding="utf-8").splitlines()]


@pytest.mark.django_db(transaction=True)
def test_a_release_has_peoples_ratings_beside_the_models(tmp_path: Path, settings: Any) -> None:
    settings.RELEASES_ROOT = tmp_path / "releases"
    stories = [builders.story_row(number) | MODELS for number in range(2)]
    study = builders.make_study(protocol="harm-ratings", stories=stories)
    for person, harm in zip(builders.qualified(study, 3), (3, 4, 5), strict=True):
        builders.answer_everything([person], {"harmfulness": str(harm), "unethicality": "1"})

    place = published(study).directory
    assert check_release(place, with_machine_validation=False).is_sound
    released = rows(place, "story-data/test.jsonl")
    assert len(released) == 2
    for row in released:
        assert {name: row[name] for name in MODELS} == MODELS
    means = {(row["story_id"], row["rated"]): row["mean"] for row in rows(place, "annotations/ratings.jsonl")}
    ids = [row["story_id"] for row in released]
    assert means == {
        (one, name): mean for one in ids for name, mean in (("harmfulness", 4), ("unethicality", 1))
    }


def test_annotators_see_the_story_but_not_what_happens_next() -> None:
    protocol = get_protocol("harm-ratings")
    item = protocol.parse(builders.story_row(0))
    assert [part.name for part in protocol.parts(item)] == ["person", "key_information", "story"]
