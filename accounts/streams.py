"""Answers that are sent while they are being read: few at a time, and none for ever.

A stream holds a thread of the web server for as long as its client reads. Were their number not limited,
a few clients that read a byte a second would leave no thread for the people who answer. What we can end is
a stream whose next piece is asked for; one whose client takes nothing more is the proxy's to end
(docs/operators.md), and only gives its place to others.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

from accounts.slots import LONGEST, Held, Slots, take

PER_READER = 2
PER_INSTALLATION = 3
"""Of a kind; fewer than the threads of one worker of the web server (4)."""
TRY_AGAIN_SECONDS = 30


class TooSlow(Exception):
    """The client has not taken its answer in the time that there is; the connection ends without its end."""


class Limited(Iterator[Any]):
    """The pieces of a stream, for as long as it may take. Its place is free once it ends or is closed."""

    def __init__(
        self, pieces: Iterator[Any], place: Held, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._pieces, self._place, self._clock = pieces, place, clock
        self._until = clock() + LONGEST.total_seconds()

    def __next__(self) -> Any:
        try:
            if self._clock() > self._until:
                raise TooSlow(f"A stream was still being read after {LONGEST}, and was ended.")
            return next(self._pieces)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """The web server calls it when the client has gone, too."""
        self._place.release()


def limited(pieces: Iterator[Any], kind: str, reader: str) -> Limited | None:
    """The stream with a place among those of its kind; None when none is free, for the reader or at all."""
    place = take(Slots(f"{kind}-of-reader", PER_READER, reader), Slots(kind, PER_INSTALLATION))
    return Limited(pieces, place) if place else None
