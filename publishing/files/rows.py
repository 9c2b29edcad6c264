"""The rows of a release, as plain values with their keys in the published order. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

from annotation.protocols.base import Choice, field_name
from publishing.files import jsonl
from publishing.files.features import UNKNOWN, Type

Row = dict[str, Any]

_REMEMBERED = 4096
"""Combinations of answers that are at hand; most votes repeat one of few."""


@dataclass(frozen=True, slots=True)
class ReleasedStory:
    """A story as it was imported. ``content`` is the item, as its study's protocol stores it."""

    story_id: str
    core_id: str
    scenario_name: str
    story_prompt_example: str | None
    severity_original: int | None
    story_generator_model: str
    content: Mapping[str, Any]
    harmfulness_predicted: Sequence[Any] = ()
    unethicality_predicted: Sequence[Any] = ()


@dataclass(frozen=True, slots=True)
class CountedVote:
    """One vote that the filter looks at. ``seconds_on_task`` runs from serving to submission.

    ``language`` is the one in which the person read the form.
    """

    annotator: str
    answers: tuple[Choice, ...]
    submitted_at: datetime
    seconds_on_task: float
    language: str = "en"


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """One multiple-choice file made from the stories: how a story becomes a question.

    ``ask`` gives the question's text, its right answer and its wrong answer.
    """

    config: str
    suffix: str
    ask: Callable[[Row], tuple[str, str, str]]

    def question_id(self, story_row: Row) -> str:
        return f"{story_row['story_id']}{self.suffix}"

    def row(self, story_row: Row, *, right_answer_first: bool) -> Row:
        """The question made from a story-data row."""
        question, right, wrong = self.ask(story_row)
        return {
            "id": self.question_id(story_row),
            "story": story_row["story"],
            "question": question,
            "scenario_name": story_row["scenario_name"],
            "choices": {
                "text": [right, wrong] if right_answer_first else [wrong, right],
                "label": ["A", "B"],
            },
            "answerKey": "A" if right_answer_first else "B",
        }


def awareness_question(person_x: str, key_information: str) -> str:
    """The mental-state question about a story."""
    return f'Is {person_x} likely to be aware that "{key_information}"?'


def judgment_question(person_x: str, action_unaware: str, action_aware: str) -> str:
    """The judgment question about a story."""
    return (
        f'Next, {person_x} "{action_unaware}" and not "{action_aware}". '
        f"The behavior of {person_x} can be best described as:"
    )


def story_data_row(story: ReleasedStory) -> Row:
    """The story with its two questions (awareness and next action), as in ``story-data``."""
    item = story.content
    aware, action = f"{story.story_id}_aware", f"{story.story_id}_action"
    return {
        "story_id": story.story_id,
        "core_id": story.core_id,
        "scenario_name": story.scenario_name,
        "story_prompt_example": story.story_prompt_example,
        "entities": _people_first(item["entities"]),
        "severity_original": story.severity_original,
        "key_information": item["key_information"],
        "story_sentence": item["story_sentence"],
        "story": item["story"],
        "story_generator_model": story.story_generator_model,
        "harmfulness_predicted": list(story.harmfulness_predicted),
        "unethicality_predicted": list(story.unethicality_predicted),
        "questions": [
            {
                "question_id": aware,
                "question": awareness_question(item["entities"]["Person X"], item["key_information"]),
                "answer_correct": "No",
                "answer_incorrect": "Yes",
            },
            {
                "question_id": action,
                "question": item["question"],
                "answer_correct": item["action_unaware"],
                "answer_incorrect": item["action_aware"],
            },
        ],
    }


def _people_first(entities: Mapping[str, str]) -> dict[str, str]:
    """The entities in one fixed order (the database does not keep the order of keys)."""
    ordered = sorted(entities, key=lambda name: (not name.startswith("Person"), name))
    return {name: entities[name] for name in ordered}


def _ask_awareness(row: Row) -> tuple[str, str, str]:
    asked = row["questions"][0]
    return asked["question"], asked["answer_correct"], asked["answer_incorrect"]


def _ask_behavior(row: Row) -> tuple[str, str, str]:
    asked = row["questions"][1]
    return asked["question"], asked["answer_correct"], asked["answer_incorrect"]


def _ask_judgment(row: Row) -> tuple[str, str, str]:
    action = row["questions"][1]
    question = judgment_question(
        row["entities"]["Person X"], action["answer_correct"], action["answer_incorrect"]
    )
    return question, "Reasonable", "Not reasonable"


def item_row(story: ReleasedStory) -> Row:
    """The story of any other protocol: its provenance and its item as it was imported."""
    return {
        "story_id": story.story_id,
        "core_id": story.core_id,
        "scenario_name": story.scenario_name,
        "story_prompt_example": story.story_prompt_example,
        "severity_original": story.severity_original,
        "story_generator_model": story.story_generator_model,
        "harmfulness_predicted": list(story.harmfulness_predicted),
        "unethicality_predicted": list(story.unethicality_predicted),
        "item": dict(story.content),
    }


STORY_CONFIG = "story-data"
VOTES_PATH = "annotations/votes.jsonl"
DROPPED_PATH = "annotations/dropped-stories.jsonl"


_PROVENANCE: dict[str, Type] = {
    "story_id": "string",
    "core_id": "string",
    "scenario_name": "string",
    "story_prompt_example": "string",
}
_STORY_COLUMNS: dict[str, Type] = {
    **_PROVENANCE,
    "entities": {"Person X": "string"},
    "severity_original": "int64",
    "key_information": "string",
    "story_sentence": "string",
    "story": "string",
    "story_generator_model": "string",
    "harmfulness_predicted": [UNKNOWN],
    "unethicality_predicted": [UNKNOWN],
    "questions": [
        {
            "question_id": "string",
            "question": "string",
            "answer_correct": "string",
            "answer_incorrect": "string",
        }
    ],
}
_ITEM_COLUMNS: dict[str, Type] = {
    **_PROVENANCE,
    "severity_original": "int64",
    "story_generator_model": "string",
    "harmfulness_predicted": [UNKNOWN],
    "unethicality_predicted": [UNKNOWN],
}
_QUESTION_COLUMNS: dict[str, Type] = {
    "id": "string",
    "story": "string",
    "question": "string",
    "scenario_name": "string",
    "choices": {"text": ["string"], "label": ["string"]},
    "answerKey": "string",
}


@dataclass(frozen=True, slots=True)
class Layout:
    """Which files a protocol's releases have: ``story-data``, and the question sets made from it."""

    story_row: Callable[[ReleasedStory], Row]
    story_columns: Mapping[str, Type]
    question_sets: tuple[QuestionSet, ...] = ()

    def columns(self, config: str) -> Mapping[str, Type]:
        """The columns of a config that are known before any row is."""
        return self.story_columns if config == STORY_CONFIG else _QUESTION_COLUMNS

    @property
    def configs(self) -> tuple[str, ...]:
        """The names under which ``datasets.load_dataset`` finds the files, in the card's order."""
        return (*(question_set.config for question_set in self.question_sets), STORY_CONFIG)


THEORY_OF_MIND = Layout(
    story_data_row,
    _STORY_COLUMNS,
    (
        QuestionSet("mental-state-qa", "_aware", _ask_awareness),
        QuestionSet("behavior-qa", "_action", _ask_behavior),
        QuestionSet("judgment-qa", "_judge", _ask_judgment),
    ),
)
ITEMS_ONLY = Layout(item_row, _ITEM_COLUMNS)


def layout_for(protocol_name: str) -> Layout:
    """The files of a release under this protocol. Protocols without question sets publish their items."""
    return THEORY_OF_MIND if protocol_name == "validity" else ITEMS_ONLY


def config_path(config: str) -> str:
    """Where a config's rows are in the release directory."""
    return f"{config}/test.jsonl"


def vote_row(story_id: str, vote: CountedVote, questions: Sequence[str]) -> Row:
    """One line of the votes file: the answers in the order of the questions, each under its form field.

    Answers to a question that is not among them (of an older version of the protocol) come last.
    """
    return VoteRows(questions).row(story_id, vote)


class VoteRows:
    """Makes the rows of the votes file, and knows afterwards which columns they have."""

    def __init__(self, questions: Sequence[str]) -> None:
        self._places = {key: place for place, key in enumerate(questions)}
        self._seen: dict[str, tuple[int, str, str]] = {}
        self._answers = lru_cache(maxsize=_REMEMBERED)(self._ordered)

    def row(self, story_id: str, vote: CountedVote) -> Row:
        """The row of one vote, as :func:`vote_row` describes it."""
        return {
            "story_id": story_id,
            "annotator": vote.annotator,
            **self._answers(vote.answers),
            "submitted_at": jsonl.timestamp(vote.submitted_at),
            "seconds_on_task": round(vote.seconds_on_task, 3),
        }

    def columns(self) -> dict[str, Type]:
        """The columns of the rows made so far, in their order."""
        return {
            "story_id": "string",
            "annotator": "string",
            **dict.fromkeys(sorted(self._seen, key=self._seen.__getitem__), "string"),
            "submitted_at": "string",
            "seconds_on_task": "float64",
        }

    def _ordered(self, answers: tuple[Choice, ...]) -> dict[str, str]:
        last = len(self._places)
        placed = sorted(
            ((self._places.get(choice.question, last), choice.question, choice.row), choice.option)
            for choice in answers
        )
        fields = {field_name(place[1], place[2]): (place, option) for place, option in placed}
        self._seen |= {field: place for field, (place, _) in fields.items()}
        return {field: option for field, (_, option) in fields.items()}


def dropped_row(story_row: Row, reason: str) -> Row:
    """One line of the dropped stories: the story-data row and the questions that dropped it."""
    return {**story_row, "reason": reason}
