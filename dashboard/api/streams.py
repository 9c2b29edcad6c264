"""Answers that are sent while they are being read: few at a time, and none for ever.

A stream holds a thread of the web server for as long as its client reads. Were their number not limited,
a few clients that read a byte a second would leave no thread for the people who answer.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import timedelta

from rest_framework.exceptions import Throttled

from accounts.slots import Held, Slots, take
from annotation.models import ApiToken

PER_TOKEN = 2
PER_INSTALLATION = 3
"""Fewer than the threads of one worker of the web server (4): should all be in one, it still answers."""
TRY_AGAIN_SECONDS = 30
LONGEST = timedelta(hours=1)
"""All votes on a million stories take minutes; a client for which this is too short reads too slowly."""


class TooSlow(Exception):
    """The client has not taken its answer in the time that there is; the connection ends without its end."""


class Limited(Iterator[bytes]):
    """The pieces of a stream, for as long as it may take. Its place is free once it ends or is closed."""

    def __init__(
        self, pieces: Iterator[bytes], place: Held, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._pieces, self._place, self._clock = pieces, place, clock
        self._until = clock() + LONGEST.total_seconds()

    def __next__(self) -> bytes:
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


def limited(pieces: Iterator[bytes], token: ApiToken) -> Limited:
    """The stream with a place of its own. Raises ``Throttled`` when there is none."""
    place = take(Slots("exports-of-token", PER_TOKEN, str(token.pk)), Slots("exports", PER_INSTALLATION))
    if place is None:
        raise Throttled(
            TRY_AGAIN_SECONDS,
            f"Too many exports are being read: {PER_TOKEN} at a time with one token, and "
            f"{PER_INSTALLATION} of all. Read one to its end, then ask for the next.",
        )
    return Limited(pieces, place)
