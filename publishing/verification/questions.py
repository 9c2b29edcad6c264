"""Compare the question sets, byte by byte, with those made from the kept stories and the salt."""

from itertools import zip_longest
from math import sqrt
from pathlib import Path

from publishing.files import jsonl
from publishing.files.rows import QuestionSet, config_path
from publishing.files.sides import Sides
from publishing.verification import jsonl as lines
from publishing.verification.decisions import KEPT_PATH
from publishing.verification.findings import Findings
from publishing.verification.statistics import differences

CHECK = "questions"
UNLIKELY = 5
"""Standard deviations of fair coins that new questions of a later release may be uneven by."""


def check(directory: Path, question_set: QuestionSet, sides: Sides, findings: Findings) -> None:
    """Compare one question set with the kept stories, which must be sound."""
    path = config_path(question_set.config)
    stories = lines.read(directory, KEPT_PATH, Findings())
    sides_of = sides.right_answers_first()
    asked = first_ones = 0
    for story, question in zip_longest(stories, lines.read(directory, path, findings)):
        if question is None:
            findings.add(CHECK, path, f"There is no question about the story {story.row['story_id']}.")
            return
        if story is None:
            findings.add(CHECK, path, "There is no kept story for this question.", question.number)
            return
        first = next(sides_of)
        asked, first_ones = asked + 1, first_ones + first
        expected = question_set.row(story.row, right_answer_first=first)
        if jsonl.line(expected) != question.data:
            problem = next(differences(question.row, expected), "It is not made as other questions are.")
            findings.add(CHECK, path, problem, question.number)
    if abs(2 * first_ones - asked) > 1 + UNLIKELY * sqrt(asked):
        problem = f"{first_ones} of {asked} right answers are choice A: far from half."
        findings.add(CHECK, path, problem)
