"""The steps of a build and the reports about them. Pure."""

import enum
from collections.abc import Callable, Generator, Iterable
from typing import TypeVar

Thing = TypeVar("Thing")


class Stage(enum.StrEnum):
    """The steps of a build, in order."""

    STORIES = "stories"
    QUESTIONS = "questions"
    DOCUMENTS = "documents"
    COPIES = "copies"
    SEALING = "sealing"
    RECORDING = "recording"


Report = Callable[[Stage, int, int | None], None]
"""Called with the step, the rows done in it, and their total (None if not counted in rows)."""

EVERY_ROWS = 256
"""Rows between two reports."""


def no_report(stage: Stage, done: int, total: int | None) -> None:
    """Ignore the report."""


def reported(things: Iterable[Thing], report: Report, stage: Stage, total: int | None) -> Generator[Thing]:
    """Yield the things unchanged and report their number."""
    report(stage, 0, total)
    for done, thing in enumerate(things):
        if done % EVERY_ROWS == 0:
            report(stage, done, total)
        yield thing
