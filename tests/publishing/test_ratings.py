"""Releases of ratings: columns of numbers, and their statistics."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import krippendorff
import numpy as np
import pyarrow.parquet as pq
import pytest
from django.utils.translation import override

from annotation import protocols
from annotation.protocols.questions import Choice
from publishing.files import jsonl
from publishing.files.rows import CountedVote, JudgedStory, ReleasedStory
from publishing.filters import FILTERS, filters_for
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
    facts = {"protocol_name": "notes", "filter_name": "every-item", **changes}
    build(place, stories, asked=asked, instrument=instrument, **facts)
    return place


def retold(place: Path, path: str, old: str, new: str) -> None:
    """Change a file of a release, and its hash in MANIFEST."""
    file = place / path
    before = file.read_bytes()
    after = before.replace(old.encode(), new.encode(), 1)
    assert after != before
    file.write_bytes(after)
    manifest = place / "MANIFEST"
    was, now = (hashlib.sha256(one).hexdigest() for one in (before, after))
    manifest.write_text(manifest.read_text().replace(was, now))


STORIES = [rated(number, number % 5 + 1, 4, 5, model=f"m{number % 2}") for number in range(10)]
STORIES += [rated(10, 4, 4, 4), rated(11, 2, 3)]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return release(tmp_path_factory.mktemp("ratings") / "1", STORIES)


def test_ratings_are_numbers_in_every_copy_and_their_ends_are_told(place: Path) -> None:
    assert [row["clarity"] for row in rows(place, "annotations/votes.jsonl")][:3] == [1, 4, 5]
    assert str(pq.read_schema(place / "parquet/annotations/votes.parquet").field("clarity").type) == "int64"
    described = json.loads((place / "release.json").read_bytes())["questions"]
    assert described[0]["scale"] == ["not at all", "fully"]
    assert "answer to “Clarity”, 1: not at all – 5: fully" in (place / "README.md").read_text()
    report = check_release(place)
    assert report.is_sound, report.shown


def test_nothing_is_kept_or_dropped_by_ratings(place: Path) -> None:
    files = {str(path.relative_to(place)) for path in place.rglob("*") if path.is_file()}
    assert not [path for path in files if "dropped" in path or "retention" in path or "agreement" in path]
    assert {"annotations/ratings.jsonl", "figures/ratings.svg"} <= files
    statistics = json.loads((place / "statistics.json").read_bytes())
    assert "agreement_on_validity" not in statistics
    assert statistics["agreement"] == {}
    for path in ("README.md", "croissant.json", "figures/ratings.svg"):
        told = (place / path).read_text().lower()
        assert "dropped" not in told.replace("nothing was dropped", ""), path
        assert " kept" not in told, path
        assert "validated" not in told, path


def test_every_item_has_its_mean_with_an_interval(place: Path) -> None:
    from scipy import stats  # loaded here: every worker imports this module

    found = {row["story_id"]: row for row in rows(place, "annotations/ratings.jsonl")}
    assert list(found) == [f"n{number:03}" for number in range(11)]  # the last one lacks a vote
    bounds = stats.t.interval(0.95, 2, loc=10 / 3, scale=stats.sem([1, 4, 5]))
    assert found["n000"] == {
        "story_id": "n000",
        "rated": "clarity",
        "ratings": 3,
        "mean": 3.333333,
        "mean_low": pytest.approx(bounds[0], abs=1e-6),
        "mean_high": pytest.approx(bounds[1], abs=1e-6),
    }
    assert (found["n010"]["mean"], found["n010"]["mean_low"]) == (4.0, None)


def test_statistics_are_those_of_the_votes_and_stand_in_card_and_chart(place: Path) -> None:
    found = json.loads((place / "statistics.json").read_bytes())["ratings"]["clarity"]
    votes: dict[str, list[int]] = {}
    for row in rows(place, "annotations/votes.jsonl"):
        votes.setdefault(row["story_id"], []).append(row["clarity"])
    whole = [given for given in votes.values() if len(given) == 3]
    alpha = krippendorff.alpha(
        np.array(whole).T, level_of_measurement="ordinal", value_domain=[1, 2, 3, 4, 5]
    )
    assert (found["items"], found["ratings"]) == (11, 33)
    assert found["mean"] == pytest.approx(np.mean(whole), abs=1e-9)
    assert found["median"] == np.median(whole)
    assert found["krippendorff_alpha_ordinal"] == pytest.approx(alpha, abs=1e-9)
    assert list(found["by_generator_model"]) == ["m0", "m1"]
    card, chart = ((place / path).read_text() for path in ("README.md", "figures/ratings.svg"))
    assert f"{found['mean']:.2f} [" in card
    assert f"{found['mean']:.2f} of 1–5" in chart


def test_the_default_filter_is_that_of_the_protocols_resolution(monkeypatch: pytest.MonkeyPatch) -> None:
    assert next(iter(filters_for("validity"))) == "all-agree"
    assert list(filters_for("validity")) == list(FILTERS)
    monkeypatch.setitem(protocols.all_protocols(), "notes", Notes())
    assert [*filters_for("notes")] == ["every-item"]


@pytest.mark.parametrize(
    ("path", "old", "new", "told"),
    [
        ("annotations/votes.jsonl", '"clarity":4', '"clarity":7', "not an option"),
        ("annotations/votes.jsonl", '"clarity":4', '"clarity":"4"', "a whole number"),
        ("release.json", '"4"', '"four"', "not its numbers"),
        ("annotations/ratings.jsonl", '"mean":3.333333', '"mean":4.333333', "does not follow from its votes"),
        ("statistics.json", '"median"', '"middle"', "ratings.clarity"),
    ],
)
def test_a_rating_off_the_scale_is_found(
    place: Path, tmp_path: Path, path: str, old: str, new: str, told: str
) -> None:
    copy = Path(shutil.copytree(place, tmp_path / "1"))
    retold(copy, path, old, new)
    assert any(told in str(found) for found in check_release(copy).shown)
