"""Rules without training: length, overlap with the story, position. Pure.

Each returns 1 for a question it gets right, 0 for a wrong one, and 0.5 if undecided.
"""

import re
from collections import Counter
from collections.abc import Sequence
from statistics import median

from publishing.machine_validation.questions import Question

_WORD = re.compile(r"\w+")


def shorter_choice(question: Question) -> float:
    """Apply “the choice with fewer characters is right”."""
    return _first_is_less(len(question.right), len(question.wrong))


def more_overlap(question: Question) -> float:
    """Apply “the choice with the larger share of its distinct words in the story is right”."""
    story = _words(question.story)
    right, wrong = (_words(choice) for choice in question.choices)
    # Shares compared as products of whole numbers; a choice without words has no overlap.
    return _first_is_less(len(wrong & story) * max(len(right), 1), len(right & story) * max(len(wrong), 1))


def median_extra_words(questions: Sequence[Question]) -> float | None:
    """Return the median number of words by which the wrong choice is longer than the right one."""
    extra = [
        len(_WORD.findall(question.wrong)) - len(_WORD.findall(question.right)) for question in questions
    ]
    return float(median(extra)) if extra else None


def position_majority(questions: Sequence[Question]) -> tuple[str | None, float | None]:
    """Return the most frequent right letter (alphabetically first in a tie) and its share."""
    letters = Counter(question.right_letter for question in questions)
    if not letters:
        return None, None
    letter = min(letters, key=lambda letter: (-letters[letter], letter))
    return letter, letters[letter] / len(questions)


def constant_answer(questions: Sequence[Question]) -> str | None:
    """Return the text of the right answer if it is the same for every question, else None."""
    texts = {question.right for question in questions}
    return texts.pop() if len(texts) == 1 else None


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.lower()))


def _first_is_less(first: int, second: int) -> float:
    return 0.5 if first == second else float(first < second)
