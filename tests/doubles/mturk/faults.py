"""What goes wrong on the way, by seeded chance: before and after a request was carried out."""

from __future__ import annotations

from collections import Counter
from enum import StrEnum
from random import Random


class Fault(StrEnum):
    """The ways in which a call fails, or answers with what is no longer true."""

    THROTTLED = "throttled"
    BEFORE = "500 before it is processed"
    AFTER = "500 after it was processed"
    DROPPED = "connection dropped after it was processed"
    STALE = "stale read"


FAILURES = (Fault.THROTTLED, Fault.BEFORE, Fault.AFTER, Fault.DROPPED)


class Faults:
    """Decides for each call. ``rate`` is the share of calls that go wrong; ``rates`` overrides it by name."""

    def __init__(self, seed: int, rate: float = 0.0) -> None:
        self.seed = seed
        self._random = Random(seed)
        self.rate = rate
        self.rates: dict[str, float] = {}
        self.kinds: tuple[Fault, ...] = (*FAILURES, Fault.STALE)
        self.next: dict[str, list[Fault]] = {}
        """Faults that will certainly strike the next calls of an operation, in this order."""
        self.longest_lag = 6
        self.struck: Counter[tuple[str, Fault]] = Counter()

    def strike(self, operation: str) -> Fault | None:
        """What goes wrong with this call. Only reads can be stale."""
        planned = self.next.get(operation)
        fault = planned.pop(0) if planned else self._by_chance(operation)
        if fault is not None:
            self.struck[operation, fault] += 1
        return fault

    def _by_chance(self, operation: str) -> Fault | None:
        if self._random.random() >= self.rates.get(operation, self.rate):
            return None
        reads = operation.startswith(("Get", "List"))
        fitting = [kind for kind in self.kinds if reads or kind is not Fault.STALE]
        return self._random.choice(fitting) if fitting else None

    def lag(self) -> int:
        """How many changes a stale read is behind."""
        return self._random.randint(1, self.longest_lag)
