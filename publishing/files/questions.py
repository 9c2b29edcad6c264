"""Multiple-choice questions about the stories of a release, made from columns of their rows. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from publishing.files.columns import as_json, joined, json_lines
from publishing.files.features import Type
from publishing.files.parquet import schema_of

if TYPE_CHECKING:
    import pyarrow as pa

QUESTION_COLUMNS: dict[str, Type] = {
    **dict.fromkeys(("id", "story", "question", "scenario_name"), "string"),
    "choices": {"text": ["string"], "label": ["string"]},
    "answerKey": "string",
}
ASKED_FROM = ("story_id", "scenario_name", "entities", "story", "questions")
"""The columns of story-data that questions are made of."""


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """A set of multiple-choice questions made from stories.

    ``ask`` returns the questions' texts, right answers and wrong answers.
    """

    config: str
    suffix: str
    ask: Callable[[pa.RecordBatch], tuple[pa.Array, pa.Array | str, pa.Array | str]]

    def question_id(self, story_row: Mapping[str, Any]) -> str:
        return f"{story_row['story_id']}{self.suffix}"

    def rows(
        self, stories: pa.RecordBatch, right_answer_first: Sequence[bool]
    ) -> tuple[pa.RecordBatch, pa.Array]:
        """Return the questions for rows of story-data, and their JSON Lines."""
        import pyarrow as pa
        import pyarrow.compute as pc

        question, right, wrong = self.ask(stories)
        first = pa.array(right_answer_first, pa.bool_())
        choices = pc.if_else(first, right, wrong), pc.if_else(first, wrong, right)
        asked = {
            "id": joined(stories["story_id"], self.suffix),
            "story": stories["story"],
            "question": question,
            "scenario_name": stories["scenario_name"],
        }
        key = pc.if_else(first, "A", "B")
        labels = pa.array(["A", "B"] * len(first))
        pairs = [_in_pairs(pa.concat_arrays(choices).take(_by_turns(len(first)))), _in_pairs(labels)]
        columns = [*asked.values(), pa.StructArray.from_arrays(pairs, ["text", "label"]), key]
        told = {name: as_json(values) for name, values in asked.items()} | {"answerKey": as_json(key)}
        told["scenario_name"] += [',"choices":{"text":[', *as_json(choices[0]), ",", *as_json(choices[1])]
        told["scenario_name"] += ['],"label":["A","B"]}']
        lines = json_lines(told)
        return pa.RecordBatch.from_arrays(columns, schema=schema_of(QUESTION_COLUMNS)), lines


def _in_pairs(values: pa.Array) -> pa.Array:
    import pyarrow as pa

    return pa.ListArray.from_arrays(2 * np.arange(len(values) // 2 + 1, dtype=np.int32), values)


def _by_turns(pairs: int) -> NDArray[np.int64]:
    """Return the places of 0, n, 1, n + 1 …: a pair of each of two halves."""
    return np.arange(2 * pairs).reshape(2, pairs).T.ravel()


def ask_stored(place: int, stories: pa.RecordBatch) -> tuple[pa.Array, pa.Array, pa.Array]:
    import pyarrow.compute as pc

    asked = pc.list_element(stories["questions"], place)
    question, right, wrong = (
        pc.struct_field(asked, name) for name in ("question", "answer_correct", "answer_incorrect")
    )
    return question, right, wrong


def ask_judgment(stories: pa.RecordBatch) -> tuple[pa.Array, str, str]:
    """Ask if what the main character does next, who is unaware, is reasonable."""
    import pyarrow.compute as pc

    person_x, (_, unaware, aware) = pc.struct_field(stories["entities"], "Person X"), ask_stored(1, stories)
    question = joined(
        "Next, ", person_x, ' "', unaware, '" and not "', aware,
        '". The behavior of ', person_x, " can be best described as:",
    )  # fmt: skip
    return question, "Reasonable", "Not reasonable"
