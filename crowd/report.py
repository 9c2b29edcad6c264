"""The results of a run: per annotator, and summed up."""

import dataclasses
import enum
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from crowd.browser import Receipt

ERRORS_KEPT = 50


class AnnotatorOutcome(enum.StrEnum):
    FINISHED = "finished"
    """The site had nothing more to offer; its reason is among the endings."""
    ENOUGH = "had enough"
    """The annotator answered as many stories as they wanted."""
    DECLINED = "declined"
    NOT_QUALIFIED = "not qualified"
    LEFT = "left"
    """The annotator closed the page in the middle of a story and did not come back."""
    STILL_THERE = "still there"
    """The run's time was up first."""
    ERROR = "error"


@dataclass(kw_only=True)
class Counts:
    """Counts for one annotator, or for all of a run."""

    tests_handed_in: int = 0
    submitted_twice: int = 0
    same_receipt_twice: int = 0
    """Forms submitted twice for which both responses carried the same receipt."""
    late: int = 0
    incomplete: int = 0
    """Forms submitted with an answer missing, refused, and then completed."""
    came_back: int = 0
    without_receipt: int = 0
    """Submissions whose response carried no receipt."""


@dataclass
class Tally(Counts):
    """One annotator so far. Only the thread that holds the annotator's turn writes it."""

    outcome: AnnotatorOutcome = AnnotatorOutcome.STILL_THERE
    ending: str = ""
    receipts: dict[int, Receipt] = field(default_factory=dict)
    """By the number of the assignment: proof that its answers were saved."""
    submit_seconds: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


@dataclass
class Report(Counts):
    """A whole run. Times are in seconds unless named otherwise."""

    seconds: float
    people: dict[str, int]
    """Annotators by :class:`AnnotatorOutcome`."""
    endings: dict[str, int]
    """Headings of the pages that told annotators that there is nothing more for them."""
    votes: int
    """Receipts held, one per answered story and annotator."""
    remarks: dict[str, int]
    """Remarks on receipts, such as that an answer came too late to count."""
    errors: tuple[str, ...]
    """The first :data:`ERRORS_KEPT` errors."""
    errors_total: int
    submits: int
    submit_p50_ms: float | None
    submit_p95_ms: float | None
    receipts: tuple[tuple[int, Receipt], ...]
    """Each with the number of its assignment."""

    @property
    def votes_per_second(self) -> float:
        return self.votes / self.seconds if self.seconds else 0.0

    def as_json(self) -> dict[str, Any]:
        """Return plain values, without the receipts."""
        facts = dataclasses.asdict(self)
        del facts["receipts"]
        facts["seconds"] = round(self.seconds, 2)
        facts["votes_per_second"] = round(self.votes_per_second, 2)
        return facts


def summed_up(tallies: Sequence[Tally], *, seconds: float) -> Report:
    """Return the report of a run that took ``seconds``."""
    # Copied first, since annotators may be at work.
    receipts = [receipt for tally in tallies for receipt in [*tally.receipts.items()]]
    errors = [error for tally in tallies for error in [*tally.errors]]
    submits = [seconds for tally in tallies for seconds in [*tally.submit_seconds]]
    return Report(
        seconds=seconds,
        people=_counted(tally.outcome.value for tally in tallies),
        endings=_counted(tally.ending for tally in tallies if tally.ending),
        votes=len(receipts),
        remarks=_counted(receipt.note for _, receipt in receipts if receipt.note),
        **{
            count.name: sum(getattr(tally, count.name) for tally in tallies)
            for count in dataclasses.fields(Counts)
        },
        errors=tuple(errors[:ERRORS_KEPT]),
        errors_total=len(errors),
        submits=len(submits),
        submit_p50_ms=_milliseconds(submits, 50),
        submit_p95_ms=_milliseconds(submits, 95),
        receipts=tuple(receipts),
    )


def _counted(texts: Iterable[str]) -> dict[str, int]:
    return dict(Counter(texts).most_common())


def _milliseconds(seconds: Sequence[float], percent: int) -> float | None:
    """Return the nearest-rank percentile."""
    return round(float(np.percentile(seconds, percent, method="inverted_cdf")) * 1000, 1) if seconds else None
