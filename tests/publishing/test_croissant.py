"""``croissant.json`` as mlcroissant sees it: valid, without a warning, with the records of the files."""

from __future__ import annotations

import hashlib
import io
import json
import logging
import re
import threading
import warnings
from pathlib import Path
from typing import Any

import pytest

from annotation.protocols.questions import Choice
from publishing.card.croissant import CONFORMS_TO
from publishing.facts import Statement
from publishing.files.jsonl import timestamp
from publishing.files.rows import SKIP_COLUMNS, CountedVote, JudgedStory
from tests.publishing.test_builder import CONFIGS, RATED, START, build, crowd, judged, rows

MIXED_ITEM = {"text": "A story.", "options": ["a", "b"], "deep": {"two words": 3, "far": {"off": True}}}
EXTRA = CountedVote("annotator-9c", (Choice("rate", "one-a", "5"),), timestamp(START), 1.0)
"""A vote on an item, which no filter knows."""


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, dict[str, Any], str]]:
    """Releases by what is special about them, each with everything mlcroissant finds and says on the way.

    It has no network.
    """
    root = tmp_path_factory.mktemp("seen")
    skip = {"story_id": "0012", "annotator": "annotator-1a", "reason": "broken", "words": "", "position": 2}
    skip |= {"skipped_at": "2026-03-01T09:00:00.000Z", "seconds_on_task": 4.5}
    build(root / "odd", odd_crowd(), skips=[{key: skip[key] for key in SKIP_COLUMNS}])
    build(root / "changed", crowd(12))
    copy = root / "changed" / "parquet/behavior-qa/test.parquet"
    copy.write_bytes(copy.read_bytes() + b"x")
    items = [judged(n, "yyyy", "yyyy", "yyyy", content={**MIXED_ITEM, "mixed": n or "x"}) for n in range(3)]
    items.append(JudgedStory(judged(3).story, (EXTRA,), frozenset()))
    build(root / "mixed items", items, protocol_name="dialogue")
    items = [judged(n, "yyyy", "yyyy", "yyyy", content=MIXED_ITEM) for n in range(3)]
    build(root / "items", items, protocol_name="dialogue")
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of rdflib, by mlcroissant
        patch.setattr("socket.socket.connect", no_network)
        return {place.name: (place, *read(place)) for place in sorted(root.iterdir())}


def no_network(*_: object) -> None:
    if threading.current_thread().name != "slots":  # a download of an earlier test, which renews its slot
        raise RuntimeError("the network was used")
    raise ConnectionRefusedError


def read(place: Path) -> tuple[dict[str, Any], str]:
    """Read a release with mlcroissant: return its records, or why it refuses them, and its warnings."""
    import mlcroissant  # loaded here: every worker imports this module

    said = io.StringIO()
    handler = logging.StreamHandler(said)
    logging.getLogger().addHandler(handler)
    try:
        dataset = mlcroissant.Dataset(str(place / "croissant.json"))
        issues = dataset.metadata.ctx.issues
        names = [record_set.uuid for record_set in dataset.metadata.record_sets]
        found = {
            "errors": sorted(map(str, issues.errors)),
            "warnings": sorted(map(str, issues.warnings)),
            "records": {name: [plain(row) for row in dataset.records(name)] for name in names},
        }
    except Exception as error:  # noqa: BLE001 - whatever a reader may meet
        found = {"refused": f"{error}: {error.__cause__!r}"}
    finally:
        logging.getLogger().removeHandler(handler)
    return found, said.getvalue()


def plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, dict):
        return {key.rpartition("/")[2]: plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [plain(inner) for inner in value]
    if type(value).__name__ == "Timestamp":
        return value.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return value.item() if hasattr(value, "item") else value


OLD_RDFLIB_NAME = pytest.mark.filterwarnings("ignore:ConjunctiveGraph is deprecated:DeprecationWarning")
"""mlcroissant uses it."""


def problems(place: Path) -> list[str]:
    """The errors and warnings of mlcroissant about the metadata alone."""
    import mlcroissant  # loaded here: every worker imports this module

    issues = mlcroissant.Dataset(str(place / "croissant.json")).metadata.ctx.issues
    return sorted(map(str, [*issues.errors, *issues.warnings]))


def metadata(place: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((place / "croissant.json").read_bytes())
    return found


def odd_crowd() -> list[JudgedStory]:
    """Ids and texts that look like numbers, differing entities, lists with and without content, nulls."""
    stories = crowd(42)
    content = {**stories[1].story.content, "entities": {"Person X": "0012", "Action Z": "sew"}}
    stories[1] = judged(1, "yyyy", "yyyy", "yyyy", content=content, harmfulness_predicted=RATED)
    stories[2] = judged(2, "yyyy", "ypyy", "yyyy", core_id="0012", severity_original=None)
    stories[4] = judged(4, "yyyy", "ypyy", "yyyy", story_id="0012", scenario_name="007")
    return stories


def test_mlcroissant_reads_every_record_of_every_file(
    seen: dict[str, tuple[Path, dict[str, Any], str]],
) -> None:
    place, found, said = seen["odd"]
    assert (found["errors"], found["warnings"]) == ([], [])
    assert "WARNING" not in said.upper(), said
    paths = {config: f"{config}/test.jsonl" for config in CONFIGS} | {
        "votes": "annotations/votes.jsonl",
        "dropped-stories": "annotations/dropped-stories.jsonl",
        "incomplete-stories": "annotations/incomplete-stories.jsonl",
        "skips": "annotations/skips.jsonl",
    }
    assert set(found["records"]) == set(paths)
    for name, path in paths.items():
        written = rows(place, path)
        assert written
        for row in written:
            if "entities" in row:  # a field has an id without spaces, and is null where a row lacks it
                keys = (
                    ("Person_X", "Action_Z", "Object_Z") if name == "story-data" else ("Person_X", "Object_Z")
                )
                given = {key.replace(" ", "_"): text for key, text in row["entities"].items()}
                row["entities"] = dict.fromkeys(keys) | given
        assert found["records"][name] == written, name


def test_every_file_is_listed_with_its_hash(tmp_path: Path) -> None:
    place = tmp_path / "1"
    build(place, crowd(12))
    listed = {file["contentUrl"]: file["sha256"] for file in metadata(place)["distribution"]}
    assert listed == {
        str(path.relative_to(place)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in place.rglob("*")
        if path.is_file() and path.name not in ("croissant.json", "MANIFEST")
    }


@OLD_RDFLIB_NAME
def test_what_venues_ask_for(tmp_path: Path) -> None:
    """Addresses, a description of every file and field, synthetic data, provenance."""
    place = tmp_path / "1"
    build(place, odd_crowd())
    found = metadata(place)
    assert found["url"] == "https://study.example.org/releases/pilot/1/"
    assert found["license"] == "https://spdx.org/licenses/CC-BY-4.0"
    assert found["rai:hasSyntheticData"] is True
    described = [*found["distribution"], *found["recordSet"]]
    fields = [field for one in found["recordSet"] for field in one["field"]]
    described += fields + [inner for field in fields for inner in field.get("subField", ())]
    assert len(described) > 90
    assert all(one["description"] for one in described)
    assert [one["prov:label"] for one in found["prov:wasDerivedFrom"]] == ["pairs.jsonl", "raw.jsonl"]
    assert found["prov:wasDerivedFrom"][0]["sc:sha256"] == "a" * 64
    assert found["prov:wasDerivedFrom"][0]["sc:license"] == "CC-BY-4.0"
    steps = found["prov:wasGeneratedBy"]
    labels = ["Generation", "Import", "Test", "Votes", "Filter", "Release"]
    assert [one["prov:label"] for one in steps] == labels
    votes = hashlib.sha256((place / "annotations/votes.jsonl").read_bytes()).hexdigest()
    assert steps[3]["prov:generated"][0]["sc:sha256"] == votes
    assert problems(place) == []


@pytest.mark.parametrize(("author", "said"), [("human-written", False), ("", None)])
def test_stories_by_people_are_not_synthetic(tmp_path: Path, author: str, said: bool | None) -> None:
    build(tmp_path / "1", [judged(n, "yyyy", "yyyy", "yyyy", story_generator_model=author) for n in range(3)])
    assert metadata(tmp_path / "1").get("rai:hasSyntheticData") is said


def test_a_changed_file_is_noticed(seen: dict[str, tuple[Path, dict[str, Any], str]]) -> None:
    assert re.search(r"(?i)hash|sha256", seen["changed"][1]["refused"])


@OLD_RDFLIB_NAME
def test_what_the_study_says_about_itself(tmp_path: Path) -> None:
    said = Statement(
        creators=("Lovelace, Ada", "The Lab"),
        platform="A\nplatform",
        demographics="Adults in one country.",
        sensitive_information="Some stories mention illness.",
        biases="Western kitchens.",
        limits="English only.",
        intended_use="Evaluation.",
        social_impact="It may help\nor harm.",
        doi="10.1234/abc",
    )
    build(tmp_path / "1", crowd(42), statement=said)
    found = metadata(tmp_path / "1")
    assert found["conformsTo"] == list(CONFORMS_TO)
    assert [creator["name"] for creator in found["creator"]] == ["Ada Lovelace", "The Lab"]
    assert found["url"] == "https://doi.org/10.1234/abc"
    assert (found["version"], found["datePublished"]) == ("1.0.0", "2026-03-01")
    assert found["rai:dataAnnotationPlatform"] == ["tomannot 0.1.0+abc", "A platform"]
    assert found["rai:annotatorDemographics"] == ["Adults in one country."]
    assert found["rai:personalSensitiveInformation"][-1] == "Some stories mention illness."
    assert found["rai:dataBiases"][-1] == "Western kitchens."
    assert found["rai:dataLimitations"][-1] == "English only."
    assert found["rai:dataUseCases"] == ["Evaluation."]
    assert found["rai:dataSocialImpact"] == "It may help or harm."
    assert found["rai:annotationsPerItem"] == "3"
    assert "q1: About q1 (yes, possibly, no)" in found["rai:dataAnnotationProtocol"]
    assert found["rai:dataCollection"].startswith("The study had 42 stories: 42 written by the models")
    assert (
        "36 are complete: 24 were kept, 12 dropped. 3 annotators gave 120 counted votes"
        in (found["rai:dataCollection"])
    )
    assert "validated" not in found["description"]
    assert "clearer" not in json.dumps(found)
    assert "97 people completed a qualification test, 19 passed" in found["rai:dataCollection"]
    assert found["rai:dataCollectionMissingData"].startswith("6 stories were incomplete")
    assert found["rai:dataCollectionTimeFrame"] == ["2026-03-01T09:00:00.000Z", "2026-03-01T09:41:02.000Z"]
    assert problems(tmp_path / "1") == []


def test_another_filter_says_that_nothing_is_validated(tmp_path: Path) -> None:
    name = "majority"
    build(tmp_path / "1", crowd(12), filter_name=name)
    found = metadata(tmp_path / "1")
    said = f"The stories are not “validated”: the filter {name} keeps stories"
    assert said in found["description"]
    assert said in found["rai:dataBiases"][0]


def test_what_a_machine_can_guess_is_among_the_biases(tmp_path: Path) -> None:
    build(tmp_path / "1", crowd(42))
    warnings = json.loads((tmp_path / "1" / "machine_validation.json").read_bytes())["warnings"]
    assert warnings
    assert metadata(tmp_path / "1")["rai:dataBiases"][1:] == warnings


def test_what_nobody_said_is_left_out(tmp_path: Path) -> None:
    build(tmp_path / "1", crowd(12), description="", environment="rehearsal")
    found = metadata(tmp_path / "1")
    for name in ("rai:annotatorDemographics", "rai:dataUseCases", "rai:dataSocialImpact", "sameAs"):
        assert name not in found
    assert found["description"].startswith("A TEST RUN: the votes are not human judgements.")


def test_items_of_another_protocol_as_far_as_croissant_can_say(
    seen: dict[str, tuple[Path, dict[str, Any], str]],
) -> None:
    place, found, _said = seen["mixed items"]
    assert (found["errors"], found["warnings"]) == ([], [])
    assert [json.loads(row["item"]) for row in found["records"]["story-data"]] == [
        row["item"] for row in rows(place, "story-data/test.jsonl")
    ]
    assert found["records"]["votes"][-1]["rate.one-a"] == "5"
    assert "dropped-stories" not in found["records"]

    (row, *_) = seen["items"][1]["records"]["story-data"]
    assert row["item"] == {"text": "A story.", "options": ["a", "b"], "two_words": 3, "off": True}
