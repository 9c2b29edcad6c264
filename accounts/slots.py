"""How many of a kind may be open at the same time, counted for all processes together in Redis.

Each of the places is a key that its holder renews from a thread of its own, so a place is held for as long
as its holder lives, also while that waits for a slow client, at most an hour; and a killed process frees it
within a minute.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from django.core.cache import caches
from django.utils.crypto import salted_hmac

from accounts import limits

LEASE_SECONDS = 60
RENEWED_EVERY_SECONDS = 20.0
LONGEST = timedelta(hours=1)
"""All votes on a million stories take minutes; a client for which this is too short reads too slowly."""


@dataclass(frozen=True, slots=True)
class Slots:
    """At most ``most`` at the same time for one ``whom``."""

    name: str
    most: int
    whom: str = ""


class Held:
    """Places that are held until :meth:`release`, or for :data:`LONGEST`."""

    def __init__(self, keys: Sequence[str], mark: str) -> None:
        self._keys, self._mark = tuple(keys), mark
        self._over = threading.Event()
        if keys:
            threading.Thread(target=self._renew, name="slots", daemon=True).start()

    def release(self) -> None:
        """Others may have them. Does nothing a second time."""
        if not self._over.is_set():
            self._over.set()
            _free(self._keys, self._mark)

    def _renew(self) -> None:
        until = time.monotonic() + LONGEST.total_seconds()
        while not self._over.wait(RENEWED_EVERY_SECONDS) and time.monotonic() < until:
            for key in self._keys:
                caches["shared"].touch(key, LEASE_SECONDS)


def take(*wanted: Slots) -> Held | None:
    """One place of each; None when one of them has no place free, and then none is taken.

    Without Redis nothing is limited, as in :mod:`accounts.limits`.
    """
    mark, taken = secrets.token_hex(8), list[str]()
    for slots in wanted:
        key = next((key for key in _keys(slots) if caches["shared"].add(key, mark, LEASE_SECONDS)), None)
        if key is None:
            _free(taken, mark)
            return None
        taken.append(key)
    return Held(taken, mark)


def _keys(slots: Slots) -> list[str]:
    digest = salted_hmac("tomannot.slots", slots.whom, algorithm="sha256").hexdigest()
    return [f"{limits.NAMESPACE}:{slots.name}:{digest}:{number}" for number in range(slots.most)]


def _free(keys: Sequence[str], mark: str) -> None:
    """Only what is still ours: a lease that ran out may be another's by now."""
    cache = caches["shared"]
    for key in keys:
        if cache.get(key) == mark:
            cache.delete(key)
