"""``annotation-report.json``: how people were recruited, trained, timed, checked and paid."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from publishing.annotation_report import QUESTIONS
from publishing.facts import quartiles
from publishing.verification import check_release
from tests.publishing.verification.support import edit_document, sound_release

PATH = "annotation-report.json"


def report_of(place: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((place / PATH).read_bytes())
    return found


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, None),
        ({7: 1}, (7, 7, 7)),
        ({1: 1, 2: 1, 3: 1, 4: 1}, (1, 2, 3)),
        ({1: 3, 9: 1}, (1, 1, 1)),
        ({5: 2, 6: 1, 100: 5}, (5, 100, 100)),
    ],
)
def test_quartiles_are_values_that_occur(values: dict[int, int], expected: Any) -> None:
    found = quartiles(values)
    assert (found and tuple(found.values())) == expected


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sound_release(tmp_path_factory.mktemp("sound") / "release")


def test_every_section_answers_its_question_and_what_other_files_say_is_the_same(sound: Path) -> None:
    place = sound
    report = report_of(place)
    statistics = json.loads((place / "statistics.json").read_bytes())
    votes = [json.loads(line) for line in (place / "annotations/votes.jsonl").read_text().splitlines()]
    assert list(report) == ["follows", *QUESTIONS]
    assert report["evaluators"] == {
        "with_counted_votes": len({vote["annotator"] for vote in votes}), "arrived": None, "consented": 100,
    }  # fmt: skip
    assert report["items"]["votes"] == len(votes)
    assert report["agreement"]["q1"]["gwet_ac1"] == statistics["agreement"]["q1"]["gwet_ac1"]
    assert report["training"]["attempted"] == 97
    assert report["pay"]["per_hour_stated"]["rate"] == "15.00"
    assert report["recruitment"] == {"stated": "", "campaigns": None, "people_by_link": None}
    assert "annotation-report.json" in (place / "README.md").read_text()
    listed = json.loads((place / "croissant.json").read_bytes())["distribution"]
    assert PATH in {file["@id"] for file in listed}
    assert check_release(place, with_machine_validation=False).shown == []


@pytest.mark.parametrize(
    ("section", "change"),
    [
        ("items", {"votes": 1}),
        ("evaluators", {"with_counted_votes": 99}),
        ("evaluators", {"consented": 1}),
        ("evaluators", {"arrived": "many"}),
        ("training", {"passed": 98}),
        ("training", {"instructions": []}),
        ("training", {"rounds": [{"kind": "test"}]}),
        ("time", {"person_hours": 1100.0}),
        ("time", {"seconds_per_item": {"lower_quartile": 1, "median": 2, "upper_quartile": 3}}),
        ("agreement", {"q1": {"percent": 1.0, "krippendorff_alpha": 1.0, "gwet_ac1": 1.0}}),
        ("pay", {"per_hour_stated": None}),
        ("pay", {"achieved": [{"purpose": "stories", "per_visit": "12.00"}]}),
        ("ethics", {"consent_texts": [9]}),
        ("characteristics", {"stated": "Everybody"}),
    ],
)
def test_a_changed_report_is_found(sound: Path, tmp_path: Path, section: str, change: dict[str, Any]) -> None:
    place = Path(shutil.copytree(sound, tmp_path / "release"))
    edit_document(PATH, lambda report: report[section].update(change))(place)
    found = check_release(place, with_machine_validation=False)
    assert found.count("annotation-report")
