"""What holds for every input: no bytes crash the reading, and what is written is read back."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from annotation.importing.files import read_rows
from annotation.importing.rows import Problem, SourceRow, StoryRow, find_forbidden, quote
from annotation.protocols.validity.item import parse
from annotation.protocols.validity.lint import lint, text_for_duplicates
from annotation.protocols.validity.reading import read
from tests.annotation.importing.samples import (
    ACTION_ROW,
    AWARE_ROW,
    STORY_ROW,
    chat_completion,
    completion_row,
    csv_bytes,
    file_outcomes,
    json_lines,
    source_rows,
    template,
)

GOOD_FILES = {
    "story.jsonl": json_lines(STORY_ROW),
    "pair.jsonl": json_lines(AWARE_ROW, ACTION_ROW),
    "completion.jsonl": json_lines(completion_row(chat_completion(template()))),
    "story.csv": csv_bytes(STORY_ROW),
}


few = settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])  # a slow machine fails none


def check_everything(content: bytes, name: str) -> None:
    """Read a file to the end: each outcome is one of ours, can be shown, and a file gives at least one."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "upload"
        path.write_bytes(content)
        outcomes = list(read_rows(path, name=name))
        assert outcomes
        assert {type(outcome) for outcome in outcomes} <= {SourceRow, Problem}
        stories, problems = file_outcomes(path, name)
    assert stories or problems
    for problem in problems:
        assert str(problem).encode().count(b"\n") == 0
        assert problem.message
        assert problem.remedy
    for story in stories:
        assert len(story.content_hash) == 64
        lint(story)
        text_for_duplicates(story)
        parse(story.content)


NAMES = st.sampled_from(["a.jsonl", "a.csv", "a.json", "a", "a.txt"])


@few
@given(content=st.binary(max_size=300), name=NAMES)
def test_no_bytes_crash_the_reading(content: bytes, name: str) -> None:
    check_everything(content, name)


@few
@given(content=st.text(alphabet='{}[]",:;\n\r\t\\aNInf01.e-+\u202e\ud7ffé', max_size=80), name=NAMES)
def test_no_near_json_or_csv_crashes_the_reading(content: str, name: str) -> None:
    check_everything(content.encode(), name)


@pytest.mark.parametrize("file", GOOD_FILES)
@given(data=st.data())
@few
def test_no_damage_to_a_good_file_crashes_the_reading(file: str, data: st.DataObject) -> None:
    content = bytearray(GOOD_FILES[file])
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(content)))
        end = min(len(content), start + data.draw(st.integers(0, 30)))
        content[start:end] = data.draw(st.binary(max_size=12))
    check_everything(bytes(content), file)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
ROWS: list[dict[str, Any]] = [
    STORY_ROW,
    {**STORY_ROW, "questions": []},
    AWARE_ROW,
    ACTION_ROW,
    completion_row(chat_completion(template())),
]


@few
@given(row=st.sampled_from(ROWS), value=VALUES, data=st.data())
def test_no_value_of_any_field_crashes_the_checks(
    row: dict[str, Any], value: Any, data: st.DataObject
) -> None:
    name = data.draw(
        st.sampled_from([*row, "questions", "harmfulness_predicted", "Person X"]) | st.text(max_size=5)
    )
    outcomes = list(read(source_rows([{**row, name: value}])))
    for outcome in outcomes:
        assert isinstance(outcome, StoryRow | Problem)
        str(outcome).encode(errors="strict")
        if isinstance(outcome, StoryRow):
            assert outcome.content_hash
            lint(outcome)


@few
@given(
    value=VALUES,
    path=st.sampled_from(["choices", "id", "model", "error", "object", "type", "content", "output"]),
)
def test_no_response_object_crashes_the_checks(value: Any, path: str) -> None:
    output = {**chat_completion(template()), path: value}
    for outcome in read(source_rows([completion_row(output)])):
        assert isinstance(outcome, StoryRow | Problem)


CLEAN = st.text(
    st.characters(codec="utf-8", exclude_categories=["C", "Zl", "Zp"], exclude_characters="<&"), max_size=40
)
TEXT = CLEAN.map(str.strip).filter(bool)


@few
@given(
    first=TEXT,
    second=TEXT,
    names=st.dictionaries(st.sampled_from(["Person Y", "Object Z", "Action Z"]), TEXT, max_size=3),
    severity=st.sampled_from([1, 2, 3, None]),
    model=CLEAN.map(str.strip),
    predicted=st.lists(st.fixed_dictionaries({"harmfulness": st.integers(1, 5), "predictor_model": TEXT})),
    in_csv=st.booleans(),
)
def test_a_story_that_is_written_is_read_back_the_same(
    first: str,
    second: str,
    names: dict[str, str],
    severity: int | None,
    model: str,
    predicted: list[Any],
    in_csv: bool,
) -> None:
    row = {
        **STORY_ROW,
        "story_id": "honey",
        "entities": {"Person X": "Nadia", **names},
        "key_information": first,
        "story_sentence": second,
        "story": f"{first} {second}",
        "severity_original": severity,
        "story_generator_model": model,
        "harmfulness_predicted": predicted,
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / ("a.csv" if in_csv else "a.jsonl")
        path.write_bytes(csv_bytes(row) if in_csv else json_lines(row))
        [story], problems = file_outcomes(path)
    assert problems == []
    assert dict(story.content) == {name: row[name] for name in story.content}
    assert (story.severity_original, story.story_generator_model) == (severity, model)
    assert list(story.harmfulness_predicted) == predicted


@few
@given(st.text())
def test_a_quoted_text_can_always_be_shown(text: str) -> None:
    shown = quote(text)
    assert shown.isprintable()
    shown.encode()
    assert find_forbidden(shown) == -1


@few
@given(st.dictionaries(st.text(max_size=5), VALUES, max_size=4))
def test_rows_of_any_fields_are_refused_and_never_crash(row: dict[str, Any]) -> None:
    for outcome in read(source_rows([row, json.loads(json.dumps(row))])):
        assert isinstance(outcome, Problem)
