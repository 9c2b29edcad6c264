"""The library ``datasets`` loads every config of a release, without a network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from publishing.files.rows import JudgedStory
from tests.publishing.loading import Loaded, load_all
from tests.publishing.test_builder import CONFIGS, RATED, build, crowd, judged, rows

ITEM = {"text": "A story.", "options": ["a", "b"], "depth": {"rating": 3}}


REVISION = {
    "story_id": "s0001",
    "revised_from": "s0000",
    "changed": ["story"],
    "before": ["Longer."],
    "after": ["Long."],
    "reason": "It was too long.",
    "revised_at": "2026-03-01T09:00:00.000Z",
}


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, Loaded]]:
    """Releases by what is special about them, each with what ``datasets`` finds there: it starts slowly."""
    root = tmp_path_factory.mktemp("loaded")
    stories = crowd(42)
    content = {**stories[1].story.content, "entities": {"Person X": "Mary", "Action Z": "sew"}}
    stories[1] = judged(1, "yyyy", "yyyy", "yyyy", content=content, harmfulness_predicted=RATED)
    items = [judged(n, "yyyy", "yyyy", "yyyy", content={**ITEM, "depth": {"rating": n}}) for n in range(3)]
    made: dict[str, tuple[list[JudgedStory], dict[str, Any]]] = {
        "many": (stories, {}),
        "one": ([judged(1, "yyyy", "yyyy", "yyyy", severity_original=None)], {}),
        "first": ([judged(1, "yyyy", "yyyy", "yyyy")], {"salt": "00"}),
        "second": ([judged(2, "yyyy", "yyyy", "yyyy")], {"salt": "01"}),
        "items": (items, {"protocol_name": "dialogue"}),
        "revised": ([judged(1, "yyyy", "yyyy", "yyyy")], {"revisions": [REVISION]}),
    }
    for name, (judgements, changes) in made.items():
        build(root / name / "1", judgements, **changes)
    configs = {"many": CONFIGS, "one": CONFIGS, "revised": ("revisions",)}
    wanted = [(root / name / "1", configs.get(name, ("story-data",))) for name in made]
    found = load_all(root / "cache", *wanted)
    return {name: (root / name / "1", one) for name, one in zip(made, found, strict=True)}


def test_datasets_loads_every_config_offline(loaded: dict[str, tuple[Path, Loaded]]) -> None:
    place, found = loaded["many"]
    for config in CONFIGS:
        written = rows(place, f"{config}/test.jsonl")
        if config == "story-data":  # absent entities come back as null, in every row
            keys = dict.fromkeys(("Person X", "Action Z", "Object Z"))
            written = [{**row, "entities": keys | row["entities"]} for row in written]
        assert found[config]["rows"] == written
    ratings = "List({'harmfulness': Value('int64'), 'predictor_model': Value('string')})"
    assert f"'harmfulness_predicted': {ratings}" in found["story-data"]["features"]
    assert "'severity_original': Value('int64')" in found["story-data"]["features"]


def test_another_release_in_a_directory_of_the_same_name_is_not_taken_from_the_cache(
    loaded: dict[str, tuple[Path, Loaded]],
) -> None:
    """``datasets`` caches by name and metadata; the salt in each config is what tells releases apart."""
    for number, name in ((1, "first"), (2, "second")):
        (row,) = loaded[name][1]["story-data"]["rows"]
        assert row["story_id"] == f"s000{number}"


def test_one_kept_story_is_enough_to_load(loaded: dict[str, tuple[Path, Loaded]]) -> None:
    assert [len(loaded["one"][1][config]["rows"]) for config in CONFIGS] == [1, 1, 1, 1]


def test_revisions_load_where_there_are_any(loaded: dict[str, tuple[Path, Loaded]]) -> None:
    assert loaded["revised"][1]["revisions"]["rows"] == [REVISION]


def test_items_of_another_protocol_are_published_as_they_are(loaded: dict[str, tuple[Path, Loaded]]) -> None:
    assert [row["item"] for row in loaded["items"][1]["story-data"]["rows"]] == [
        {**ITEM, "depth": {"rating": n}} for n in range(3)
    ]
