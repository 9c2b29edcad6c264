"""Are the rows of votes and stories what a release says they are: keys, order, types?"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any

from annotation.protocols.base import KEY_PATTERN, Choice
from publishing.facts import AskedQuestion
from publishing.files import jsonl
from publishing.files.features import Type
from publishing.files.rows import CountedVote, Layout, ReleasedStory, Row, item_row
from publishing.verifying.lines import Line

CHECK = "schema"
_ANNOTATOR = re.compile(r"annotator-[0-9a-f]{16}")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
_KEY = re.compile(KEY_PATTERN)
_TEXTS = ("story_id", "core_id", "scenario_name", "story_generator_model")
_STORY_TEXTS = ("key_information", "story_sentence", "story")
_QUESTION_KEYS = ["question_id", "question", "answer_correct", "answer_incorrect"]


class VoteReader:
    """Makes votes of rows. Remembers the answers it has seen: most votes repeat one of few."""

    def __init__(self, asked: Sequence[AskedQuestion]) -> None:
        self._asked = {question.key: question for question in asked}
        self._places = {question.key: place for place, question in enumerate(asked)}
        self._fields: set[str] = set()
        self._answers = lru_cache(maxsize=4096)(self._answers_of)

    def read(self, row: Row) -> CountedVote | str:
        """The vote in a row, or what is wrong with it as a sentence."""
        keys = list(row)
        if keys[:2] != ["story_id", "annotator"] or keys[-2:] != ["submitted_at", "seconds_on_task"]:
            return "The keys are not story_id, annotator, the answers, submitted_at, seconds_on_task."
        story_id, annotator, *options, submitted, seconds = row.values()
        if not isinstance(story_id, str) or not story_id:
            return "story_id is not a text that says something."
        if not isinstance(annotator, str) or not _ANNOTATOR.fullmatch(annotator):
            return "annotator is not a pseudonym: annotator- and 16 hexadecimal digits."
        if not all(isinstance(option, str) for option in options):
            return "An answer is not a text."
        answers = self._answers(tuple(zip(keys[2:-2], options, strict=True)))
        if isinstance(answers, str):
            return answers
        moment = _moment(submitted)
        if moment is None:
            return "submitted_at is not a time such as 2026-03-01T09:30:00.250Z."
        if type(seconds) not in (int, float) or seconds < 0 or round(seconds, 3) != seconds:
            return "seconds_on_task is not a number from 0 on, with three decimals at most."
        return CountedVote(annotator, answers, moment, seconds)

    def columns(self) -> dict[str, Type]:
        """The columns of the votes read so far."""
        fields = sorted(self._fields, key=self._place)
        return {
            "story_id": "string",
            "annotator": "string",
            **dict.fromkeys(fields, "string"),
            "submitted_at": "string",
            "seconds_on_task": "float64",
        }

    def _place(self, field: str) -> tuple[int, str]:
        question, _, row = field.partition(".")
        return self._places[question], row

    def _answers_of(self, given: tuple[tuple[str, str], ...]) -> tuple[Choice, ...] | str:
        choices = []
        for field, option in given:
            question, _, row = field.partition(".")
            asked = self._asked.get(question)
            if asked is None:
                return f"{field[:60]} is none of the questions in release.json."
            if asked.options and (row or option not in asked.options):
                return f"{field[:60]}: “{option[:40]}” is none of the options in release.json."
            if not _KEY.fullmatch(option) or (row and not _KEY.fullmatch(row)):
                return f"{field[:60]}: “{option[:40]}” is not the key of an option."
            choices.append(Choice(question, row, option))
        if missing := self._asked.keys() - {choice.question for choice in choices}:
            return f"There is no answer to {', '.join(sorted(missing))}."
        fields = [field for field, _ in given]
        if fields != sorted(fields, key=self._place):
            return "The answers are not in the order of the questions."
        self._fields.update(fields)
        return tuple(choices)


def _moment(value: Any) -> datetime | None:
    if not isinstance(value, str) or not _MOMENT.fullmatch(value):
        return None
    try:
        return datetime.fromisoformat(value)
    except ValueError:
        return None


def story_keys(layout: Layout) -> list[str]:
    """The keys of a story's row, in order."""
    return [*layout.story_columns, *(["item"] if layout.story_row is item_row else [])]


def read_story(line: Line, layout: Layout, *, dropped: bool) -> ReleasedStory | str:
    """The story in a row of story-data (or of the dropped stories), or what is wrong with the row."""
    row = line.row
    wanted = [*story_keys(layout), *(["reason"] if dropped else [])]
    if list(row) != wanted:
        return f"The keys are {', '.join(row)[:200]}; they should be {', '.join(wanted)}."
    if problem := _wrong_types(row, dropped):
        return problem
    if "item" in row:
        content: Mapping[str, Any] = row["item"]
    else:
        if problem := _wrong_story(row):
            return problem
        action = row["questions"][1]
        content = {
            **{name: row[name] for name in ("entities", *_STORY_TEXTS)},
            "question": action["question"],
            "action_unaware": action["answer_correct"],
            "action_aware": action["answer_incorrect"],
        }
    story = ReleasedStory(
        row["story_id"],
        row["core_id"],
        row["scenario_name"],
        row["story_prompt_example"],
        row["severity_original"],
        row["story_generator_model"],
        content,
        row["harmfulness_predicted"],
        row["unethicality_predicted"],
    )
    rebuilt = layout.story_row(story) | ({"reason": row["reason"]} if dropped else {})
    if jsonl.line(rebuilt) != line.data:
        return f"{_first_difference(rebuilt, row)} is not what the rest of the row gives."
    return story


def _wrong_types(row: Row, dropped: bool) -> str:
    for name in _TEXTS + (("reason",) if dropped else ()):
        if not isinstance(row[name], str) or (name in ("story_id", "reason") and not row[name]):
            return f"{name} is not a text that says something."
    if not isinstance(row["story_prompt_example"], str | None):
        return "story_prompt_example is neither a text nor null."
    if type(row["severity_original"]) not in (int, type(None)):
        return "severity_original is neither a whole number nor null."
    for name in ("harmfulness_predicted", "unethicality_predicted"):
        if not isinstance(row[name], list):
            return f"{name} is not a list."
    if "item" in row and not isinstance(row["item"], dict):
        return "item is not an object."
    return ""


def _wrong_story(row: Row) -> str:
    entities, questions = row["entities"], row["questions"]
    if not isinstance(entities, dict) or not entities.get("Person X"):
        return "entities does not name Person X."
    if not all(isinstance(name, str) for name in entities.values()):
        return "An entity is not a text."
    for name in _STORY_TEXTS:
        if not isinstance(row[name], str) or not row[name]:
            return f"{name} is not a text that says something."
    if not isinstance(questions, list) or len(questions) != 2:
        return "questions are not two."
    for question in questions:
        if not isinstance(question, dict) or list(question) != _QUESTION_KEYS:
            return f"A question has not the keys {', '.join(_QUESTION_KEYS)}."
        if not all(isinstance(text, str) and text for text in question.values()):
            return "A part of a question is not a text that says something."
    return ""


def _first_difference(expected: Row, found: Row) -> str:
    return next(
        (name for name in expected if jsonl.line({"": expected[name]}) != jsonl.line({"": found[name]})),
        "The row",
    )
