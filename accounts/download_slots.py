"""Limit how many answers are streamed at the same time, over all processes.

A stream holds a thread of the web server for as long as its client reads. Without a limit, a few clients
that read a byte a second would leave no thread for annotators. Each slot is a Redis key that its holder
renews from its own thread, so a slot stays taken while the client reads, for an hour at most, and a killed
process frees it within a minute. We can end a stream only when its next piece is asked for; a client that
takes nothing more is the proxy's to disconnect (docs/operators.md), and merely loses its slot.
"""

import secrets
import threading
import time
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any

from django.core.cache import caches
from django.utils.crypto import salted_hmac

from accounts import rate_limits

LEASE_SECONDS = 60
RENEWED_EVERY_SECONDS = 20.0
LONGEST = timedelta(hours=1)
"""Exporting all votes on a million stories takes minutes; only a slow reader needs longer."""
PER_READER = 2
PER_INSTALLATION = 3
"""Streams of one kind; fewer than the threads of one worker of the web server (4)."""
TRY_AGAIN_SECONDS = 30


class Held:
    """Slots that are held until :meth:`release`, or for :data:`LONGEST`."""

    def __init__(self, keys: Sequence[str], mark: str) -> None:
        self._keys, self._mark = tuple(keys), mark
        self._over = threading.Event()
        if keys:
            threading.Thread(target=self._renew, name="slots", daemon=True).start()

    def release(self) -> None:
        """Free the slots. Calling it again does nothing."""
        if not self._over.is_set():
            self._over.set()
            _free(self._keys, self._mark)

    def _renew(self) -> None:
        until = time.monotonic() + LONGEST.total_seconds()
        while not self._over.wait(RENEWED_EVERY_SECONDS) and time.monotonic() < until:
            for key in self._keys:
                caches["shared"].touch(key, LEASE_SECONDS)


def take(*kinds: Sequence[str]) -> Held | None:
    """Take one slot of each kind (:func:`slots`). Return None, and take none, if one has no free slot.

    Without Redis nothing is limited, as in :mod:`accounts.rate_limits`.
    """
    mark, taken = secrets.token_hex(8), list[str]()
    for keys in kinds:
        key = next((key for key in keys if caches["shared"].add(key, mark, LEASE_SECONDS)), None)
        if key is None:
            _free(taken, mark)
            return None
        taken.append(key)
    return Held(taken, mark)


def slots(name: str, most: int, whom: str = "") -> list[str]:
    """Return the keys of ``most`` slots of this name for one ``whom``."""
    digest = salted_hmac("tomannot.slots", whom, algorithm="sha256").hexdigest()
    return [f"{rate_limits.NAMESPACE}:{name}:{digest}:{number}" for number in range(most)]


def _free(keys: Sequence[str], mark: str) -> None:
    """Delete the keys that still carry our mark: an expired one may be another holder's by now."""
    cache = caches["shared"]
    for key in keys:
        if cache.get(key) == mark:
            cache.delete(key)


class TooSlow(Exception):
    """The client read too slowly, so the connection is cut: the file is visibly incomplete."""


class Limited(Iterator[Any]):
    """The pieces of a stream, for :data:`LONGEST` at most. Ending or closing it frees its slot."""

    def __init__(self, pieces: Iterator[Any], held: Held) -> None:
        self._pieces, self._held = pieces, held
        self._until = time.monotonic() + LONGEST.total_seconds()

    def __next__(self) -> Any:
        try:
            if time.monotonic() > self._until:
                raise TooSlow(f"A stream was still being read after {LONGEST}, and was ended.")
            return next(self._pieces)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Free the slot. The web server also calls this when the client disconnects."""
        self._held.release()


def limited(pieces: Iterator[Any], kind: str, reader: str) -> Limited | None:
    """Return the stream with a slot of its kind, or None if the reader or the installation has none free."""
    held = take(slots(f"{kind}-of-reader", PER_READER, reader), slots(kind, PER_INSTALLATION))
    return Limited(pieces, held) if held else None
