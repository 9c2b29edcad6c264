"""Release directories with just the files that machine validation reads, from a few words per story."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from publishing.files import jsonl
from publishing.files.parquet import schema_of
from publishing.files.rows import STORY_CONFIG, THEORY_OF_MIND, Layout, ReleasedStory, config_path
from publishing.machine_validation import validate


@dataclass(frozen=True)
class Made:
    """A story of which only these parts matter to a test."""

    right: str
    wrong: str
    core: str = "core"
    scenario: str = "scenario"
    story: str = ""
    """Left out, it is like no other core's."""
    entities: dict[str, str] = field(default_factory=dict)


def released(story_id: str, made: Made) -> ReleasedStory:
    """The story as the builder has it."""
    text = made.story or f"{made.core}, {made.core} and {made.core}."
    return ReleasedStory(
        story_id=story_id,
        core_id=made.core,
        scenario_name=made.scenario,
        story_prompt_example=None,
        severity_original=None,
        story_generator_model="model",
        content={
            "entities": {"Person X": "Mary", "Object Z": f"object of {made.core}", **made.entities},
            "key_information": text,
            "story_sentence": text,
            "story": text,
            "question": "What will Mary likely do next?",
            "action_unaware": made.right,
            "action_aware": made.wrong,
        },
    )


def write(directory: Path, stories: Sequence[ReleasedStory], layout: Layout = THEORY_OF_MIND) -> Path:
    """``story-data`` and the question sets of these stories; choices in every other question are swapped."""
    rows = [layout.story_row(story) for story in stories]
    _write(directory / config_path(STORY_CONFIG), (jsonl.line(row) for row in rows))
    sides = [place % 2 == 0 for place in range(len(rows))]
    for question_set in layout.question_sets:
        columns = pa.RecordBatch.from_pylist(rows, schema_of(layout.story_columns))
        _, lines = question_set.rows(columns, sides)
        _write(directory / config_path(question_set.config), (line.encode() for line in lines.to_pylist()))
    return directory


def document(directory: Path, layout: Layout) -> dict[str, Any]:
    """The content of ``machine_validation.json``."""
    return validate(directory, layout).document


def _write(path: Path, lines: Iterable[bytes]) -> None:
    path.parent.mkdir(parents=True)
    path.write_bytes(b"".join(lines))


def write_made(directory: Path, made: Sequence[Made]) -> Path:
    return write(directory, [released(f"s{number:04d}", story) for number, story in enumerate(made)])
