"""``annotation-report.json``: how people were recruited, trained, timed, checked and paid."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from publishing.annotation_report import QUESTIONS
from publishing.statistics.quartiles import quartiles
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


@pytest.fixture
def place(sound: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(sound, tmp_path / "release"))


def problems(place: Path) -> list[str]:
    report = check_release(place, with_machine_validation=False)
    return [one.problem for one in report.shown if one.check == "annotation-report"]


def test_figures_that_other_files_do_not_have_are_found(place: Path) -> None:
    def change(report: dict[str, Any]) -> None:
        report["items"]["votes"] = 1
        report["evaluators"].update(with_counted_votes=99, consented=1)
        report["training"]["instructions"] = []
        report["time"]["person_hours"] = 1100.0
        report["time"]["seconds_per_item"]["median"] = 2
        report["agreement"]["q1"]["gwet_ac1"] = 1.0
        report["pay"]["per_hour_stated"] = None
        report["ethics"]["consent_texts"] = [9]
        report["characteristics"]["stated"] = "Everybody"

    edit_document(PATH, change)(place)
    found = problems(place)
    for words in (
        "items.votes", "evaluators.with_counted_votes", "training.instructions", "time.person_hours",
        "time.seconds_per_item.median", "agreement.q1.gwet_ac1", "pay.per_hour_stated",
        "ethics.consent_texts", "characteristics.stated", "More people voted than consented",
    ):  # fmt: skip
        assert any(problem.startswith(words) for problem in found), (words, found)


@pytest.mark.parametrize(
    ("section", "change"),
    [
        ("evaluators", {"arrived": "many"}),
        ("training", {"passed": 98}),
        ("training", {"rounds": [{"kind": "test"}]}),
        ("pay", {"achieved": [{"purpose": "stories", "per_visit": "12.00"}]}),
    ],
)
def test_what_no_other_file_has_is_checked_for_its_shape(
    place: Path, section: str, change: dict[str, Any]
) -> None:
    edit_document(PATH, lambda report: report[section].update(change))(place)
    assert problems(place)
