"""The steps of a build and the reports about them. Pure."""

import enum
from collections.abc import Callable, Generator, Iterable, Sized
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import TypeVar

Item = TypeVar("Item")
Rows = TypeVar("Rows", bound=Sized)


class Stage(enum.StrEnum):
    """The steps of a build, in order."""

    STORIES = "stories"
    QUESTIONS = "questions"
    DOCUMENTS = "documents"
    SEALING = "sealing"
    RECORDING = "recording"


Report = Callable[[Stage, int, int | None], None]
"""Called with the step, the rows done in it, and their total (None if not counted in rows)."""


def no_report(stage: Stage, done: int, total: int | None) -> None:
    """Ignore the report."""


def reported(chunks: Iterable[Rows], report: Report, stage: Stage, total: int | None) -> Generator[Rows]:
    """Yield the chunks unchanged and report the number of their rows."""
    done = 0
    report(stage, done, total)
    for chunk in chunks:
        yield chunk
        done += len(chunk)
        report(stage, done, total)


def ahead(items: Generator[Item]) -> Generator[Item]:
    """Yield the items, of which none may be None. A thread makes the next one while this one is used."""
    with closing(items), ThreadPoolExecutor(1) as thread:
        coming = thread.submit(next, items, None)
        while (item := coming.result()) is not None:
            coming = thread.submit(next, items, None)
            yield item
