"""The human-performance protocol: six conditions of each causal template, stitched without a new word."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from annotation.importing.files import read_rows
from annotation.importing.rows import Problem, SourceRow, StoryRow
from annotation.protocols import get_protocol
from annotation.protocols.human_performance import TEMPLATE_COLUMNS

PROTOCOL = get_protocol("human-performance")
ROW = json.loads(PROTOCOL.example.splitlines()[0])
PUBLISHED = Path(__file__).resolve().parents[4] / "shared" / "data" / "bigtom" / "bigtom_templates.csv"
FORWARD = {"true": "aware", "false": "unaware"}


def read(**changes: Any) -> list[StoryRow | Problem]:
    row = {name: value for name, value in {**ROW, **changes}.items() if value is not None}
    return list(PROTOCOL.read([SourceRow("templates.jsonl", 1, row)]))


def right_and_wrong(story: StoryRow) -> tuple[str, str]:
    """Return the texts of the right and of the wrong answer."""
    (row,) = PROTOCOL.scored_rows(story.content)
    texts = {choice.key: choice.label for choice in PROTOCOL.parse(story.content).choices}
    return texts.pop(row.right), *texts.values()


@pytest.mark.parametrize("belief", FORWARD)
@pytest.mark.parametrize(
    ("kind", "told", "asked"),
    [
        ("forward-belief", "", "belief"),
        ("forward-action", "", "action"),
        ("backward-belief", "action_", "belief"),
    ],
)
def test_a_condition_is_the_story_then_what_it_tells_and_its_answers(
    kind: str, told: str, asked: str, belief: str
) -> None:
    holds = FORWARD[belief]
    other = ({*FORWARD.values()} - {holds}).pop()
    stories = {story.scenario_name: story for story in read() if isinstance(story, StoryRow)}
    assert len(stories) == 6
    story = stories[f"{kind}-{belief}"]
    assert (story.story_id, story.core_id) == (f"thermos_{kind}-{belief}", "thermos")
    assert story.content["story"] == f"{ROW['story']} {ROW[told + holds]}"
    assert story.content["question"] == ROW[f"{asked}_question"]
    assert right_and_wrong(story) == (ROW[f"{asked}_answer_{holds}"], ROW[f"{asked}_answer_{other}"])
    assert [row.kind for row in PROTOCOL.scored_rows(story.content)] == [story.scenario_name]


def test_a_template_without_an_id_has_one_that_follows_from_its_texts() -> None:
    first, again = read(id=None), read(id=None, author="somebody")
    other = read(id=None, story="Another story.")
    ids = [
        {story.core_id for story in stories if isinstance(story, StoryRow)}
        for stories in (first, again, other)
    ]
    assert len(ids[0]) == 1
    assert ids[0] == ids[1] != ids[2]


def test_a_question_is_exported_as_it_came_in() -> None:
    for story in read():
        assert isinstance(story, StoryRow)
        row = PROTOCOL.source_row(story)
        assert list(PROTOCOL.read([SourceRow("templates.jsonl", 1, row)])) == [story]


WRONG: list[tuple[Any, ...]] = [
    ({"aware": None}, "aware"),
    ({"belief_question": ""}, "belief_question"),
    ({"id": "17"}, "id"),
    ({"belief_answer_aware": ROW["belief_answer_unaware"]}, "belief_answer_aware"),
    ({"percept": "She sees it."}, "percept"),
]


def test_what_is_wrong_with_a_template_is_told_once(subtests: pytest.Subtests) -> None:
    for changes, field in WRONG:
        with subtests.test(str(changes)):
            (problem,) = read(**changes)
            assert isinstance(problem, Problem)
            assert problem.field == field


def file_of(*rows: list[str]) -> str:
    written = io.StringIO()
    csv.writer(written, delimiter=";", lineterminator="\n").writerows(rows)
    return written.getvalue()


def test_a_table_without_a_header_has_the_published_columns(tmp_path: Path) -> None:
    cells = [ROW.get(name, "x y") for name in TEMPLATE_COLUMNS]
    bad = [*cells[:-1], "a\u202eb"]
    path = tmp_path / "templates.csv"
    told = []
    for rows in ([cells, bad, cells], [list(TEMPLATE_COLUMNS), cells, bad, cells]):
        path.write_text(file_of(*rows))
        found = list(read_rows(path, name=path.name, headerless=TEMPLATE_COLUMNS))
        assert [isinstance(one, Problem) for one in found] == [False, True, False]
        told.append([one.data for one in found if isinstance(one, SourceRow)])
    assert told[0] == told[1]
    assert told[0][0]["belief_question"] == ROW["belief_question"]


@pytest.mark.skipif(not PUBLISHED.exists(), reason="the published templates are not here")
def test_the_published_templates_are_read() -> None:
    rows = read_rows(PUBLISHED, name=PUBLISHED.name, headerless=PROTOCOL.headerless)
    stories = list(PROTOCOL.read(row for row in rows if isinstance(row, SourceRow)))
    lines = PUBLISHED.read_text(encoding="utf-8").splitlines()
    assert len(stories) == 6 * len(lines)
    first = dict(zip(TEMPLATE_COLUMNS, lines[0].split(";"), strict=True))
    backward = stories[5]
    assert isinstance(backward, StoryRow)
    assert backward.scenario_name == "backward-belief-false"
    assert backward.content["story"] == f"{first['story']} {first['action_unaware']}"
    assert right_and_wrong(backward) == (first["belief_answer_unaware"], first["belief_answer_aware"])


@pytest.mark.parametrize("example", PROTOCOL.instructions.examples)
def test_examples_show_their_story_question_and_choices(example: Any) -> None:
    assert [part.name for part in example.parts] == ["story", "question", "choices"]
    assert example.answer in example.parts[2].text.split(" · ")
    assert example.option == "ab"[example.parts[2].text.split(" · ").index(example.answer)]
