"""The steps of a build, and how it reports them. Pure."""

from __future__ import annotations

import enum
from collections.abc import Callable, Generator, Iterable
from typing import TypeVar

Thing = TypeVar("Thing")


class Stage(enum.StrEnum):
    """The steps of a build, in their order."""

    STORIES = "stories"
    QUESTIONS = "questions"
    DOCUMENTS = "documents"
    COPIES = "copies"
    SEALING = "sealing"
    RECORDING = "recording"


Report = Callable[[Stage, int, int | None], None]
"""Takes the step, the rows done in it, and how many there are (None: not counted in rows)."""

EVERY_ROWS = 256
"""Rows after which a step reports."""


def nobody(stage: Stage, done: int, total: int | None) -> None:
    """A report that nobody reads."""


def reported(things: Iterable[Thing], report: Report, stage: Stage, total: int | None) -> Generator[Thing]:
    """The same things, counted as they are taken."""
    report(stage, 0, total)
    for done, thing in enumerate(things):
        if done % EVERY_ROWS == 0:
            report(stage, done, total)
        yield thing
