"""The human baseline as a part of a release: copied, counted, drawn, verified, and beside models."""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Callable
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from annotation.protocols import get_protocol
from annotation.protocols.questions import Choice
from publishing import builder
from publishing.facts import AskedQuestion
from publishing.files import jsonl
from publishing.files.directory import MANIFEST, file_facts
from publishing.files.rows import CountedVote, JudgedStory, ReleasedStory
from publishing.human_baseline.release_files import Baseline
from publishing.instrument import form_of
from publishing.statistics.intervals import wilson
from publishing.verification import check_release
from tests.publishing.chunks import chunks_of
from tests.publishing.evaluation.reference import SETS, read
from tests.publishing.evaluation.test_evaluating import answers
from tests.publishing.test_builder import FACTS, INSTRUMENT, START, build, crowd
from tests.publishing.verification.support import edit_document, edit_rows, pseudonymous, seal

KEYS = ("story", "question", "choices", "answerKey")
VOTES, ACCURACY = "baseline/votes.jsonl", "baseline/accuracy.json"
CHART = "figures/human-baseline.svg"
STORIES = 6
DRAWN = {"release": {"study": "pilot", "number": 1}, "per_scenario": 3, "seed": 7}
RIGHT = {"mental-state-qa": (1, 1, 1), "behavior-qa": (1, 1, 0), "judgment-qa": (1, 0, 0)}
"""Which of three people answer a set rightly."""


def released(place: Path, **options: Any) -> builder.BuiltRelease:
    stories = [pseudonymous(judged) for judged in crowd(24)]
    return builder.build(place, facts=FACTS, chunks=chunks_of(stories), **options)


def asked_people(place: Path, release: Path) -> Path:
    """The release of a study in which three people answered all questions about the first six stories."""
    items = []
    for config in SETS:
        for row in read(release / config / "test.jsonl")[:STORIES]:
            right, wrong = ("a", "b") if row["answerKey"] == "A" else ("b", "a")
            content = {"config": config} | {
                key: row[key] for key in ("story", "question", "choices", "answerKey")
            }
            votes = tuple(
                CountedVote(
                    f"annotator-{person:016x}",
                    (Choice("answer", "", right if is_right else wrong),),
                    jsonl.timestamp(START + timedelta(seconds=person)),
                    4.0,
                )
                for person, is_right in enumerate(RIGHT[config])
            )
            number = int(row["id"][1:5])
            story = ReleasedStory(
                row["id"], f"c{number // 3:04d}", row["scenario_name"], None, 1, "model", content
            )
            items.append(JudgedStory(story, votes, frozenset()))
    shown = INSTRUMENT | {
        "protocol": {"name": "multiple-choice", "version": "1"},
        "forms": [form_of(get_protocol("multiple-choice"), "en")],
    }
    items.sort(key=lambda judged: judged.story.story_id)
    build(
        place,
        items,
        slug="people",
        protocol_name="multiple-choice",
        asked=(AskedQuestion("answer", "Your answer"),),
        instrument=shown,
    )
    return place


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("baseline")
    released(root / "first")
    return asked_people(root / "people", root / "first")


@pytest.fixture(scope="module")
def whole(people: Path) -> Path:
    """A release with the answers of people in it."""
    place = people.parent / "second"
    released(place, baseline=Baseline(people, DRAWN))
    return place


@pytest.fixture
def place(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "1"))


def test_the_answers_and_their_accuracy_are_in_the_release(whole: Path, people: Path) -> None:
    assert (whole / VOTES).read_bytes() == (people / "annotations/votes.jsonl").read_bytes()
    found = json.loads((whole / ACCURACY).read_bytes())
    shares = {
        config: (one["right"], one["votes"], one["majority"]["right"])
        for config, one in found["configs"].items()
    }
    assert shares == {"behavior-qa": (12, 18, 6), "judgment-qa": (6, 18, 0), "mental-state-qa": (18, 18, 6)}
    assert found["annotators"] == 3
    assert found["source"] == {
        "study": "people",
        "number": 1,
        "url": FACTS.url,
        "manifest_sha256": file_facts(people, MANIFEST).sha256,
        "votes_per_question": 3,
        "drawn": DRAWN,
    }
    card = (whole / "README.md").read_text(encoding="utf-8")
    low, high = wilson(6, 6) or (0, 0)
    section = card[card.index("## How well people answer") :]
    assert "3 participants answered 18 of these questions, each 3 times." in section
    assert f"| `behavior-qa` | 6 | 66.7 % | 100.0 % [{100 * low:.1f}, {100 * high:.1f}] |" in section
    assert CHART in section
    assert b"people, 66.7 %" in (whole / CHART).read_bytes()
    assert b"always the shorter choice, " in (whole / CHART).read_bytes()


def test_only_what_is_meant_to_be_new_differs(whole: Path, people: Path) -> None:
    contents = [
        {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}
        for root in (people.parent / "first", whole)
    ]
    before, now = contents
    assert now.keys() - before.keys() == {VOTES, ACCURACY, CHART}
    assert {path for path in before if before[path] != now[path]} == {"README.md", "croissant.json", MANIFEST}
    added = [
        line for line in now["README.md"].decode().splitlines() if line not in before["README.md"].decode()
    ]
    assert added[0] == "## How well people answer"


def test_the_same_answers_give_the_same_bytes(whole: Path, people: Path, tmp_path: Path) -> None:
    made = released(tmp_path / "1", baseline=Baseline(people, DRAWN))
    assert made.manifest_sha256 == file_facts(whole, MANIFEST).sha256


def test_it_is_verified(whole: Path) -> None:
    report = check_release(whole)
    assert (report.shown, report.unchecked) == ([], [])


def other_answer(rows: list[dict[str, Any]]) -> None:
    rows[0]["answer"] = "b" if rows[0]["answer"] == "a" else "a"


def doubled(rows: list[dict[str, Any]]) -> None:
    rows[1]["annotator"] = rows[0]["annotator"]


@pytest.mark.parametrize(
    ("damage", "file", "words"),
    [
        (edit_rows(VOTES, other_answer), ACCURACY, "right is"),
        (edit_rows(VOTES, lambda rows: rows[0].update(answer="c")), VOTES, "not one of its choices"),
        (edit_rows(VOTES, lambda rows: rows[0].update(story_id="s9999_action")), VOTES, "not a question"),
        (edit_rows(VOTES, doubled), VOTES, "twice"),
        (edit_document(ACCURACY, lambda d: d["all"].update(accuracy=0.9)), ACCURACY, "all.accuracy is 0.9"),
        (lambda place: (place / ACCURACY).unlink(), ACCURACY, "missing"),
        (edit_rows(VOTES, lambda rows: rows[0].update(comment="write to ann@example.org")), VOTES, "e-mail"),
        (lambda place: (place / CHART).write_bytes(b"<svg/>"), CHART, "not the one drawn"),
    ],
    ids=["answer", "option", "question", "twice", "figure", "missing", "address", "chart"],
)  # fmt: skip
def test_changed_answers_and_figures_are_found(
    place: Path, damage: Callable[[Path], object], file: str, words: str
) -> None:
    damage(place)
    seal(place)
    found = check_release(place, with_machine_validation=False).shown
    assert any(one.file == file and words in one.problem for one in found), list(map(str, found))


def test_answers_to_questions_that_changed_are_left_out(people: Path, tmp_path: Path) -> None:
    stories = [pseudonymous(judged) for judged in crowd(24)]
    story = stories[1].story
    changed = dataclasses.replace(story, content={**story.content, "action_aware": "throw it all away"})
    stories[1] = dataclasses.replace(stories[1], story=changed)
    builder.build(tmp_path / "1", facts=FACTS, chunks=chunks_of(stories), baseline=Baseline(people, DRAWN))
    left = {row["story_id"] for row in read(tmp_path / "1" / VOTES)}
    assert len(left) == 3 * STORIES - 2  # its action and the judgment of it
    assert "s0001_aware" in left
    assert check_release(tmp_path / "1", with_machine_validation=False).is_sound
    others = [pseudonymous(judged) for judged in crowd(60)[30:]]
    builder.build(tmp_path / "2", facts=FACTS, chunks=chunks_of(others), baseline=Baseline(people, DRAWN))
    assert not (tmp_path / "2" / "baseline").exists()


def test_models_stand_beside_people_on_the_same_questions(whole: Path, tmp_path: Path) -> None:
    file = answers(
        whole, tmp_path / "model.jsonl", lambda name, number: name != "behavior-qa" or number >= STORIES
    )
    out = StringIO()
    call_command("evaluate_release", whole, file, stdout=out, json=True)
    found = json.loads(out.getvalue())
    score = found["models"]["model"]["configs"]["behavior-qa"]
    assert (score["questions_of_people"]["accuracy"], score["questions_of_people"]["n"]) == (0, 6)
    assert score["accuracy"] > 0.5
    assert found["human_baseline"]["behavior-qa"]["accuracy"] == pytest.approx(12 / 18)
    out = StringIO()
    call_command("evaluate_release", whole, file, stdout=out)
    assert "| people | " in out.getvalue()
