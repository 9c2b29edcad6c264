"""Reading the questions of a release: all, or whole cores of a very large release."""

import hashlib
import re
from array import array
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from publishing.errors import BrokenDirectory
from publishing.files.questions import QuestionSet
from publishing.files.rows import STORY_CONFIG, config_path

MOST_STORIES = 4000
MOST_BYTES = 5_000_000
"""Larger releases (in stories, or in bytes of story-data) are sampled by whole cores.

Two-sentence stories take about 1.3 kB. The limit in bytes bounds memory if stories are long.
"""

_CORE_ID = re.compile(rb'\{"story_id":"[^"\\]*","core_id":"([^"\\]*)"')
"""Matches ids without escapes as the first keys of a row; other rows are parsed as JSON."""

MAIN_CHARACTERS = frozenset({"Person X", "Person Y"})
"""Entities that do not relate two stories: most stories share a few first names."""


@dataclass(frozen=True, slots=True)
class Question:
    """One question with two choices. ``entities`` are the exact strings that relate stories."""

    id: str
    core: str
    scenario: str
    entities: tuple[str, ...]
    story: str
    question: str
    right: str
    wrong: str
    right_letter: str

    @property
    def choices(self) -> tuple[str, str]:
        """The right choice and the wrong one."""
        return self.right, self.wrong


@dataclass(frozen=True, slots=True)
class Sample:
    """The stories in use, by position in the file (from 0), out of ``total``."""

    stories: dict[int, dict[str, Any]]
    total: int

    @property
    def is_whole(self) -> bool:
        return len(self.stories) == self.total


def read_stories(directory: Path) -> Sample:
    """Read the story-data rows of a release: all, or whole cores up to the limits above.

    A core's number is the first eight bytes of the SHA-256 of its id; cores with the smallest numbers are
    taken, as many as fit. Holds some 50 bytes per story meanwhile, besides the sample.
    Raise ``OSError``.
    """
    numbers, sizes = array("Q"), array("Q")
    with open(directory / config_path(STORY_CONFIG), "rb", buffering=1 << 20) as file:
        for line in file:
            named = _CORE_ID.match(line)
            core_id = named[1] if named else orjson.loads(line)["core_id"].encode()
            numbers.append(int.from_bytes(hashlib.sha256(core_id).digest()[:8], "big"))
            sizes.append(len(line))
        found, lengths = np.array(numbers), np.array(sizes)
        order = np.argsort(found, kind="stable")
        fits = (np.arange(len(order)) < MOST_STORIES) & (np.cumsum(lengths[order]) <= MOST_BYTES)
        is_in = np.ones(len(order), bool) if fits.all() else found < found[order[np.argmin(fits)]]
        stories = {}
        for at, begin in zip(
            np.flatnonzero(is_in).tolist(), (np.cumsum(lengths) - lengths)[is_in].tolist(), strict=True
        ):
            file.seek(begin)
            stories[at] = orjson.loads(file.readline())
    return Sample(stories, len(numbers))


def read_questions(directory: Path, question_set: QuestionSet, sample: Sample) -> list[Question]:
    """Read the questions about these stories, in file order.

    Raise :class:`~publishing.errors.BrokenDirectory` if a line is not about the story on the same line of
    ``story-data``, or ``OSError``.
    """
    path = config_path(question_set.config)
    found = []
    with open(directory / path, "rb", buffering=1 << 20) as file:
        for place, line in enumerate(file):
            if place in sample.stories:
                story, row = sample.stories[place], orjson.loads(line)
                if row["id"] != question_set.question_id(story):
                    raise BrokenDirectory(
                        f"{directory}: line {place + 1} of {path} is the question {row['id']}, which is "
                        f"not about {story['story_id']}, the story on line {place + 1} of {STORY_CONFIG}."
                    )
                found.append(_question(story, row))
    if len(found) != len(sample.stories):
        raise BrokenDirectory(
            f"{directory}: {path} has {len(found)} questions about {len(sample.stories)} stories."
        )
    return found


def _question(story: dict[str, Any], row: dict[str, Any]) -> Question:
    texts = dict(zip(row["choices"]["label"], row["choices"]["text"], strict=True))
    right = texts.pop(row["answerKey"])
    (wrong,) = texts.values()
    return Question(
        id=row["id"],
        core=story["core_id"],
        scenario=story["scenario_name"],
        entities=tuple(text for key, text in story["entities"].items() if key not in MAIN_CHARACTERS),
        story=row["story"],
        question=row["question"],
        right=right,
        wrong=wrong,
        right_letter=row["answerKey"],
    )
