"""Do the question sets follow from the kept stories and the salt? Every byte of them does."""

from __future__ import annotations

from itertools import zip_longest
from pathlib import Path

from publishing.files import jsonl
from publishing.files.rows import QuestionSet, Row, config_path
from publishing.files.sides import Sides
from publishing.verifying import lines
from publishing.verifying.decisions import KEPT_PATH
from publishing.verifying.findings import Findings

CHECK = "questions"


def check(directory: Path, question_set: QuestionSet, sides: Sides, findings: Findings) -> None:
    """Compare one question set with what the kept stories give. The stories must be sound."""
    path = config_path(question_set.config)
    stories = lines.read(directory, KEPT_PATH, Findings())
    for story, question in zip_longest(stories, lines.read(directory, path, findings)):
        if question is None:
            findings.add(CHECK, path, f"There is no question about the story {story.row['story_id']}.")
            return
        if story is None:
            findings.add(CHECK, path, "There is no kept story for this question.", question.number)
            return
        first = sides.right_answer_first(question_set.question_id(story.row))
        expected = question_set.row(story.row, right_answer_first=first)
        if jsonl.line(expected) != question.data:
            findings.add(CHECK, path, _difference(expected, question.row), question.number)


def _difference(expected: Row, found: Row) -> str:
    """What is wrong with a question, from what readers of it would meet first."""
    if list(found) != list(expected):
        return f"The keys are {', '.join(found)[:200]}; they should be {', '.join(expected)}."
    for key in ("id", "story", "question", "scenario_name"):
        if found[key] != expected[key]:
            return f"{key} is not what the story in this place gives."
    choices, right = found["choices"], expected["choices"]
    if (
        not isinstance(choices, dict)
        or list(choices) != ["text", "label"]
        or choices["label"] != right["label"]
    ):
        return "choices should have text and label, and label should be A and B."
    if not isinstance(choices["text"], list) or sorted(map(str, choices["text"])) != sorted(right["text"]):
        return "choices are not the answers that the story gives."
    if found["answerKey"] not in right["label"]:
        return "answerKey is none of the labels."
    chosen = choices["text"][right["label"].index(found["answerKey"])]
    if chosen != right["text"][right["label"].index(expected["answerKey"])]:
        return f"answerKey {found['answerKey']} names the wrong answer."
    return f"The right answer is {found['answerKey']}; the salt puts it at {expected['answerKey']}."
