"""Releases of tables to label: rows differ from item to item, but the labels are declared once."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest
from django.utils.translation import override

from annotation.protocols.questions import Choice
from publishing.errors import NotEvaluable
from publishing.evaluation.report import evaluate
from publishing.files import jsonl
from publishing.files.rows import CountedVote, JudgedStory, ReleasedStory
from publishing.instrument import form_of
from publishing.queries import asked_question
from publishing.verification import check_release
from tests.annotation.protocols.test_second_protocol import PROTOCOL
from tests.publishing.test_builder import INSTRUMENT, START, build

LABELS = PROTOCOL.questions[2]


def labelled(number: int, *votes: tuple[str, ...]) -> JudgedStory:
    """Item ``number`` with one label per line in every vote."""
    content = {
        "id": f"d{number}",
        "text": "A: Rain. B: No.",
        "endings": ["x", "y"],
        "lines": ["Rain.", "No."],
    }
    story = ReleasedStory(f"d{number}", f"d{number}", "dialogue", None, None, "", content)
    given = tuple(
        CountedVote(
            f"annotator-{person:016x}",
            tuple(Choice("label", f"line-{place}", label) for place, label in enumerate(labels, 1)),
            jsonl.timestamp(START + timedelta(minutes=number, seconds=person)),
            20.5,
        )
        for person, labels in enumerate(votes)
    )
    return JudgedStory(story, given, frozenset())


def test_agreement_on_labels_uses_the_declared_ones_and_the_release_verifies(tmp_path: Path) -> None:
    with override("en"):
        asked = (asked_question(LABELS),)
    assert asked[0].options == ("belief", "wish")
    form = {**form_of(PROTOCOL, "en")}
    form["questions"] = [one for one in form["questions"] if one["key"] == "label"]
    instrument = {**INSTRUMENT, "protocol": {"name": "dialogue", "version": "1"}, "forms": [form]}
    same = (("belief", "belief"),) * 3
    build(
        tmp_path / "1",
        [labelled(0, *same), labelled(1, ("belief", "belief"), ("belief", "belief"), ("belief", "belief"))],
        asked=asked,
        protocol_name="dialogue",
        instrument=instrument,
    )
    statistics = jsonl_document(tmp_path / "1" / "statistics.json")
    found = statistics["agreement"]["label"]
    assert (found["categories"], found["categories_are"]) == (2, "offered")
    assert found["gwet_ac1"] == pytest.approx(1.0)  # undefined with the one label that was chosen
    report = check_release(tmp_path / "1")
    assert report.is_sound, report.shown
    (tmp_path / "model.jsonl").write_text('{"story_id": "d0", "label": "wish"}\n')
    with pytest.raises(NotEvaluable, match="rows of its own"):
        evaluate(tmp_path / "1", [tmp_path / "model.jsonl"])


def jsonl_document(path: Path) -> dict[str, dict[str, dict[str, float | str]]]:
    document: dict[str, dict[str, dict[str, float | str]]] = json.loads(path.read_bytes())
    return document
