"""What goes wrong between a client and the double, drawn from a seed or ordered for one request."""

from __future__ import annotations

import enum
import hashlib
import re
from collections import Counter
from dataclasses import dataclass, field


class Fault(enum.Enum):
    """How a request goes wrong."""

    THROTTLED = "429 with Retry-After, nothing done"
    FAILED = "500, nothing done"
    FAILED_LATE = "500 after it was done"
    DROPPED = "connection dropped after it was done; over TLS its stream breaks"
    STALE = "a read as it was before the last change"


READS = (Fault.THROTTLED, Fault.FAILED, Fault.DROPPED, Fault.STALE)
WRITES = (Fault.THROTTLED, Fault.FAILED, Fault.FAILED_LATE, Fault.DROPPED)


@dataclass
class Faults:
    """Which requests go wrong: a share ``rate`` of each operation's, the same ones for the same seed.

    What happens to the n-th request of an operation depends on the seed, the operation and n alone, so
    that threads do not change it.
    """

    seed: int = 0
    rate: float = 0.0
    done: Counter[Fault] = field(default_factory=Counter)
    _seen: Counter[str] = field(default_factory=Counter)
    _ordered: list[tuple[str, str, Fault]] = field(default_factory=list)

    def order(self, fault: Fault, method: str, pattern: str) -> None:
        """The next request with this method and a path that the pattern finds goes wrong like this."""
        self._ordered.append((method, pattern, fault))

    def draw(self, method: str, path: str) -> Fault | None:
        """What goes wrong with this request, if anything."""
        fault = self._take_ordered(method, path) or self._draw(method, path)
        if fault:
            self.done[fault] += 1
        return fault

    def _take_ordered(self, method: str, path: str) -> Fault | None:
        for number, (wanted, pattern, fault) in enumerate(self._ordered):
            if wanted == method and re.search(pattern, path):
                del self._ordered[number]
                return fault
        return None

    def _draw(self, method: str, path: str) -> Fault | None:
        if not self.rate:
            return None
        operation = f"{method} {re.sub(r'[0-9a-f]{24}', '{id}', path)}"
        self._seen[operation] += 1
        text = f"{self.seed}:{operation}:{self._seen[operation]}"
        number = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
        if number / 2**64 >= self.rate:
            return None
        kinds = READS if method == "GET" else WRITES
        return kinds[number % len(kinds)]
