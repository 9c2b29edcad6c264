"""What a comparison came to, and what went wrong in it without stopping it."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from celery.exceptions import SoftTimeLimitExceeded

from recruitment.marketplace import NotConfigured, Unreachable
from recruitment.reconciliation.plan import Step

logger = logging.getLogger(__name__)


class Failures:
    """What went wrong with single rows of a run that goes on all the same."""

    def __init__(self) -> None:
        self._first: Exception | None = None
        self.number = 0

    @contextmanager
    def of(self, what: str) -> Iterator[None]:
        """Errors in this block are logged, and kept to be raised at the end."""
        try:
            yield
        except Unreachable as error:
            self.number += 1
            logger.warning("%s: %s", what, error)
            self._first = self._first or error
        except (NotConfigured, SoftTimeLimitExceeded):
            raise  # nothing else will go better, or there is no time left for it
        except Exception as error:
            self.number += 1
            logger.exception("Comparing %s with its platform failed.", what)
            self._first = (
                error if self._first is None or isinstance(self._first, Unreachable) else self._first
            )

    def raise_first(self) -> None:
        """Raise what went wrong, if anything did; something else than silence first."""
        if self._first:
            raise self._first


@dataclass(slots=True)
class Outcome:
    """What a comparison came to: pieces of work looked at, and how often each step was taken."""

    looked_at: int = 0
    steps: dict[Step, int] = field(default_factory=dict)

    def add(self, steps: Iterable[Step]) -> None:
        self.looked_at += 1
        for step in steps:
            self.steps[step] = self.steps.get(step, 0) + 1
